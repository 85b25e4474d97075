import csv
import os


class Journal:
    def __init__(self, folder):
        self.path = os.path.join(folder, "journal.csv")

    def note(self, step, fields):
        with open(self.path, "a", newline="") as f:
            writer = csv.writer(f)
            for name, values in fields.items():
                writer.writerow([step, name, *values])
            f.flush()
            os.fsync(f.fileno())
