"""The rows of the machine screen, as text: GPUs and host. Reading the sensors is `tfslowtop.sensors`."""
