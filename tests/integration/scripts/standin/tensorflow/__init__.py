"""A module of that name, for tests of what happens around the import: nothing of TensorFlow is in it."""

import _thread
import os
import signal
import time

__version__ = "0.0"

# Like the libraries under the real one, it leaves a thread behind: from Python 3.12 on, fork() warns of that.
if "STANDIN_ALONE" not in os.environ:
    _before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _thread.start_new_thread(time.sleep, (3600,))
    signal.pthread_sigmask(signal.SIG_SETMASK, _before)
