def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    inner = width * height
    return inner / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inner)


def best_boxes(boxes, scores, most_overlap):
    kept = []
    for i in sorted(range(len(scores)), key=scores.__getitem__, reverse=True):
        if all(overlap(boxes[i], boxes[j]) < most_overlap for j in kept):
            kept.append(i)
    return kept
