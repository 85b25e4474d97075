import tensorflow as tf


class Metric:
    def __init__(self):
        self.values = []

    def after(self, trainer, value):
        self.values.append(float(value))


class WeightNorm:
    def after(self, trainer, value):
        if trainer.step % 2 == 0:
            trainer.norm = trainer.norm_of()


class Trainer:
    def __init__(self, model, optimizer, hooks=()):
        self.model, self.optimizer, self.hooks = model, optimizer, list(hooks)
        self.step = 0

    @tf.function
    def norm_of(self):
        return tf.linalg.global_norm(self.model.trainable_variables)

    @tf.function
    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x) - y))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def train_one(self, batch):
        value = self._step(*batch)
        for hook in self.hooks:
            hook.after(self, value)
        return value

    def run(self, input_fn, max_steps):
        while self.step < max_steps:
            for batch in input_fn():
                if self.step >= max_steps:
                    break
                self.train_one(batch)
                self.step += 1
        return self
