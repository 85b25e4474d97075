import tensorflow as tf


class Trainer:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal([64, 64]))
        self.log = []

    @tf.function
    def step(self, x):
        return tf.reduce_sum(tf.matmul(x, self.w))

    def run(self, n):
        x = tf.random.normal([32, 64])
        for i in range(n):
            loss = float(self.step(x))
            self.log.append({"step": i, "loss": loss, "note": [str(i) * 3 for _ in range(400)]})


trainer = Trainer()
trainer.run(3500)
print(len(trainer.log))
