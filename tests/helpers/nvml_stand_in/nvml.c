/* A stand-in for libnvidia-ml.so.1: the functions that pynvml calls for us, with answers from a file.
 *
 * $NVML_STAND_IN names a file of lines `key value`, looked at anew at every call, so that a test can move the
 * machine's state while the watcher runs. A value `!15` makes the call return error 15; a key that is not
 * there is NVML_ERROR_NOT_SUPPORTED. Keys:
 *
 *   init 0 | !9              what initialising says
 *   generation 1             another number: all calls are "uninitialised" until the next init (driver reload)
 *   driver 550.54            count 2              sleep.ms 0   (how long each memory query blocks)
 *   gpu.0.all !15            every call on this device fails
 *   gpu.0.uuid GPU-…         gpu.0.name NVIDIA …
 *   gpu.0.memory.used|total|reserved bytes       gpu.0.utilisation percent    gpu.0.memory.utilisation percent
 *   gpu.0.clock|clock.max MHz    gpu.0.throttle bits    gpu.0.temperature °C    gpu.0.power|power.limit mW
 *   gpu.0.pcie.rx|pcie.tx KiB/s
 *   gpu.0.process.0 pid bytes    gpu.0.use.0 pid percent    (bytes -1: not available; gpu.0.use !3: refused)
 *   gpu.0.mig 1    gpu.0.mig.count 7    gpu.0.mig.1.uuid MIG-…   (and name, memory, process as above)
 *
 * Written from the documented interface; laid out as in the structures of pynvml. -DOLD_DRIVER leaves out what
 * drivers before 535 lack.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { GPUS = 16, SLICES = 8 };

typedef unsigned long long u64;
typedef struct { int gpu, mig; } device_t;
typedef struct { u64 total, free, used; } memory_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned pid; u64 memory; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned pid; u64 at; unsigned sm, memory, encoder, decoder; } use_t;

static device_t devices[GPUS][SLICES + 1];
static long long opened = -1; /* the generation in which we were initialised; -1: not */

/* The file as it is now. It is read again only when it was replaced: the library's own cost shall be a driver's,
 * not that of opening a file at each call. */
static char *machine(void) {
    static char contents[1 << 16];
    static struct stat known;
    struct stat now;
    const char *path = getenv("NVML_STAND_IN");
    if (!path || stat(path, &now)) return NULL;
    if (now.st_ino != known.st_ino || now.st_mtim.tv_sec != known.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != known.st_mtim.tv_nsec) {
        FILE *file = fopen(path, "r");
        if (!file) return NULL;
        contents[fread(contents, 1, sizeof contents - 1, file)] = 0;
        fclose(file);
        known = now;
    }
    return contents;
}

/* The text after `key `, in `line`, or NULL. */
static char *look_up(const char *key, char *line, int size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t length = strlen(key);
    char *found = NULL;
    pthread_mutex_lock(&lock);
    for (const char *at = machine(); at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == ' ') {
            snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
            found = line + length + 1;
            break;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

static int text(const char *key, char *out, unsigned size) {
    char line[512], *value = look_up(key, line, sizeof line);
    if (!value) return NOT_SUPPORTED;
    if (*value == '!') return atoi(value + 1);
    snprintf(out, size, "%s", value);
    return OK;
}

static int number(const char *key, long long *out) {
    char value[64];
    int error = text(key, value, sizeof value);
    if (!error) *out = strtoll(value, NULL, 0);
    return error;
}

static int ready(void) {
    long long now = 0;
    number("generation", &now);
    return opened == now ? OK : UNINITIALIZED;
}

/* `gpu.0.` or `gpu.0.mig.1.` in front of the key, after the checks that every call on a device makes. */
static int device_key(const device_t *device, const char *key, char *out, int size) {
    long long ignored;
    int error = ready();
    if (error) return error;
    if (!device) return INVALID;
    snprintf(out, size, "gpu.%d.all", device->gpu);
    error = number(out, &ignored);
    if (error && error != NOT_SUPPORTED) return error;
    if (device->mig < 0) snprintf(out, size, "gpu.%d.%s", device->gpu, key);
    else snprintf(out, size, "gpu.%d.mig.%d.%s", device->gpu, device->mig, key);
    return OK;
}

static int device_number(const device_t *device, const char *key, long long *out) {
    char full[96];
    int error = device_key(device, key, full, sizeof full);
    return error ? error : number(full, out);
}

static int device_text(const device_t *device, const char *key, char *out, unsigned size) {
    char full[96];
    int error = device_key(device, key, full, sizeof full);
    return error ? error : text(full, out, size);
}

static int device_unsigned(const device_t *device, const char *key, unsigned *out) {
    long long value = 0;
    int error = device_number(device, key, &value);
    if (!error) *out = (unsigned)value;
    return error;
}

/* A list `key.0`, `key.1` … of pairs; fills `out` up to `room`, returns how many there are or -error. */
static int pairs(const device_t *device, const char *key, long long out[][2], int room) {
    for (int n = 0;; n++) {
        char name[48], value[64];
        snprintf(name, sizeof name, "%s.%d", key, n);
        int error = device_text(device, name, value, sizeof value);
        if (error == NOT_SUPPORTED) return n;
        if (error) return -error;
        if (n < room) sscanf(value, "%lli %lli", &out[n][0], &out[n][1]);
    }
}

int nvmlInitWithFlags(unsigned flags) {
    long long value = 0;
    int error = number("init", &value);
    (void)flags;
    if (error && error != NOT_SUPPORTED) return error;
    opened = 0;
    number("generation", &opened);
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    int error = ready();
    opened = -1;
    return error;
}
const char *nvmlErrorString(int code) { (void)code; return "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return ready() ? UNINITIALIZED : text("driver", out, size); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return nvmlSystemGetDriverVersion(out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12040; return ready(); }
int nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }

int nvmlDeviceGetCount_v2(unsigned *out) {
    long long count = 0;
    int error = ready();
    if (!error) error = number("count", &count);
    *out = (unsigned)count;
    return error;
}

static int handle(int gpu, int mig, device_t **out) {
    long long ignored;
    char key[96];
    if (gpu < 0 || gpu >= GPUS || mig >= SLICES) return INVALID;
    device_t *device = &devices[gpu][mig + 1];
    device->gpu = gpu, device->mig = mig;
    int error = device_key(device, "handle", key, sizeof key);
    if (!error) error = number(key, &ignored);
    if (error && error != NOT_SUPPORTED) return error;
    *out = device;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t **out) { return handle((int)index, -1, out); }
int nvmlDeviceGetHandleByUUID(const char *uuid, device_t **out) {
    for (int gpu = 0; gpu < GPUS; gpu++)
        for (int mig = -1; mig < SLICES; mig++) {
            char found[96];
            if (!handle(gpu, mig, out) && !device_text(*out, "uuid", found, sizeof found) && !strcmp(found, uuid))
                return OK;
        }
    return NOT_FOUND;
}
int nvmlDeviceGetIndex(device_t *device, unsigned *out) { *out = device->mig < 0 ? device->gpu : device->mig; return ready(); }
int nvmlDeviceGetName(device_t *device, char *out, unsigned size) { return device_text(device, "name", out, size); }
int nvmlDeviceGetUUID(device_t *device, char *out, unsigned size) { return device_text(device, "uuid", out, size); }

static int memory(device_t *device, memory_v2_t *out) {
    long long total = 0, used = 0, reserved = 0, nap = 0;
    int error = device_number(device, "memory.used", &used);
    if (!error) error = device_number(device, "memory.total", &total);
    if (error) return error;
    device_number(device, "memory.reserved", &reserved);
    if (!number("sleep.ms", &nap)) usleep((useconds_t)nap * 1000);
    out->total = total, out->used = used, out->reserved = reserved, out->free = total - used - reserved;
    return OK;
}
int nvmlDeviceGetMemoryInfo(device_t *device, memory_t *out) {
    memory_v2_t found;
    int error = memory(device, &found);
    /* Version 1 counts what is reserved as used. */
    if (!error) *out = (memory_t){found.total, found.free, found.used + found.reserved};
    return error;
}

int nvmlDeviceGetUtilizationRates(device_t *device, rates_t *out) {
    out->memory = 0;
    device_unsigned(device, "memory.utilisation", &out->memory);
    return device_unsigned(device, "utilisation", &out->gpu);
}
int nvmlDeviceGetClockInfo(device_t *device, unsigned type, unsigned *out) {
    return type > 1 ? NOT_SUPPORTED : device_unsigned(device, "clock", out);
}
int nvmlDeviceGetMaxClockInfo(device_t *device, unsigned type, unsigned *out) {
    return type > 1 ? NOT_SUPPORTED : device_unsigned(device, "clock.max", out);
}
int nvmlDeviceGetTemperature(device_t *device, unsigned sensor, unsigned *out) {
    return sensor ? INVALID : device_unsigned(device, "temperature", out);
}
int nvmlDeviceGetPowerUsage(device_t *device, unsigned *out) { return device_unsigned(device, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(device_t *device, unsigned *out) { return device_unsigned(device, "power.limit", out); }
int nvmlDeviceGetPowerManagementLimit(device_t *device, unsigned *out) { return device_unsigned(device, "power.limit", out); }
int nvmlDeviceGetPcieThroughput(device_t *device, unsigned counter, unsigned *out) {
    return device_unsigned(device, counter ? "pcie.rx" : "pcie.tx", out);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(device_t *device, u64 *out) {
    long long bits = 0;
    int error = device_number(device, "throttle", &bits);
    *out = (u64)bits;
    return error;
}

static int processes(device_t *device, const char *key, unsigned *count, process_t *out) {
    long long list[64][2];
    int there = pairs(device, key, list, 64);
    if (there < 0) return -there;
    int room = (int)*count;
    *count = (unsigned)there;
    if (there > room || (there && !out)) return INSUFFICIENT_SIZE;
    for (int n = 0; n < there; n++) out[n] = (process_t){(unsigned)list[n][0], (u64)list[n][1], ~0u, ~0u};
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(device_t *device, unsigned *count, process_t *out) {
    return processes(device, "process", count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v2(device_t *device, unsigned *count, process_t *out) {
    return processes(device, "graphics", count, out);
}
int nvmlDeviceGetProcessUtilization(device_t *device, use_t *out, unsigned *count, u64 since) {
    long long list[64][2];
    struct timeval now;
    char full[96], line[512], *refused;
    int error = device_key(device, "use", full, sizeof full);
    if (error) return error;
    refused = look_up(full, line, sizeof line);
    if (refused && *refused == '!') return atoi(refused + 1);
    int there = pairs(device, "use", list, 64);
    if (there < 0) return -there;
    gettimeofday(&now, NULL);
    u64 at = (u64)now.tv_sec * 1000000 + now.tv_usec - 1000;
    if (!there || at <= since) return NOT_FOUND;
    int room = (int)*count;
    *count = (unsigned)there;
    if (!out || room < there) return INSUFFICIENT_SIZE;
    for (int n = 0; n < there; n++) out[n] = (use_t){(unsigned)list[n][0], at, (unsigned)list[n][1], 0, 0, 0};
    return OK;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetMemoryInfo_v2(device_t *device, memory_v2_t *out) { return memory(device, out); }
int nvmlDeviceGetCurrentClocksEventReasons(device_t *device, u64 *out) {
    return nvmlDeviceGetCurrentClocksThrottleReasons(device, out);
}
int nvmlDeviceGetComputeRunningProcesses_v3(device_t *device, unsigned *count, process_t *out) {
    return processes(device, "process", count, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t *device, unsigned *count, process_t *out) {
    return processes(device, "graphics", count, out);
}
#endif

/* What only nvitop asks for, which can be put beside our panel on the same stand-in. */
#define REFUSED(name) int name(void) { return NOT_SUPPORTED; }
REFUSED(nvmlDeviceGetPciInfo_v3) REFUSED(nvmlDeviceGetSerial) REFUSED(nvmlDeviceGetFanSpeed)
REFUSED(nvmlDeviceGetEncoderUtilization) REFUSED(nvmlDeviceGetDecoderUtilization)
REFUSED(nvmlDeviceGetDisplayActive) REFUSED(nvmlDeviceGetDisplayMode) REFUSED(nvmlDeviceGetPersistenceMode)
REFUSED(nvmlDeviceGetPerformanceState) REFUSED(nvmlDeviceGetTotalEccErrors) REFUSED(nvmlDeviceGetComputeMode)
REFUSED(nvmlDeviceGetCudaComputeCapability) REFUSED(nvmlDeviceGetDriverModel) REFUSED(nvmlDeviceGetFieldValues)
REFUSED(nvmlDeviceGetBAR1MemoryInfo) REFUSED(nvmlDeviceGetGpuInstanceId)
REFUSED(nvmlDeviceGetComputeInstanceId) REFUSED(nvmlDeviceGetMPSComputeRunningProcesses_v3)

int nvmlDeviceIsMigDeviceHandle(device_t *device, unsigned *out) { *out = device->mig >= 0; return ready(); }
int nvmlDeviceGetMigMode(device_t *device, unsigned *current, unsigned *pending) {
    int error = device_unsigned(device, "mig", current);
    *pending = *current;
    return error;
}
int nvmlDeviceGetMaxMigDeviceCount(device_t *device, unsigned *out) { return device_unsigned(device, "mig.count", out); }
int nvmlDeviceGetMigDeviceHandleByIndex(device_t *device, unsigned index, device_t **out) {
    char uuid[96];
    int error = handle(device->gpu, (int)index, out);
    /* An index without a slice is not found; the driver leaves holes. */
    return error ? error : device_text(*out, "uuid", uuid, sizeof uuid) ? NOT_FOUND : OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device_t *device, device_t **out) { return handle(device->gpu, -1, out); }
