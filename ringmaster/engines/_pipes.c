/* The same as ringmaster/engines/pipes.py, where there is a C compiler: see there.
 *
 * Between two moves of a real engine everything that a referee needs has left the
 * processor's caches, and what a move costs is how much of it has to be fetched again.
 * Writing, reading and two looks at the clock are one call here.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

/* What is read at once at most; larger sizes are read as this one. */
#define MOST 65536

static long long
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Returns whether there are `count` arguments, all integers but the one at `other`. */
static int
integers(PyObject *const *arguments, Py_ssize_t given, Py_ssize_t count, Py_ssize_t other,
         long *values)
{
    Py_ssize_t i;

    if (given != count) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", count, given);
        return 0;
    }
    for (i = 0; i < count; i++) {
        if (i == other)
            continue;
        values[i] = PyLong_AsLong(arguments[i]);
        if (values[i] == -1 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

/* Reads once; returns a new reference to bytes, or to None where reading does not block
 * and there is nothing, NULL with an exception set.  A handler of a signal that interrupts
 * it is called, and it goes on. */
static PyObject *
chunk_of(int fd, long size, long long *seen)
{
    char buffer[MOST];
    ssize_t got;
    int error;

    if (size <= 0 || size > MOST)
        size = MOST;
    for (;;) {
        Py_BEGIN_ALLOW_THREADS
        got = read(fd, buffer, (size_t)size);
        error = errno;
        *seen = now();
        Py_END_ALLOW_THREADS
        if (got >= 0)
            return PyBytes_FromStringAndSize(buffer, got);
        if (error == EINTR) {
            if (PyErr_CheckSignals() < 0)
                return NULL;
        }
        else if (error == EAGAIN || error == EWOULDBLOCK)
            Py_RETURN_NONE;
        else {
            errno = error;
            return PyErr_SetFromErrno(PyExc_OSError);
        }
    }
}

/* Returns a tuple of integers and, at its end, an object whose reference it takes over. */
static PyObject *
told(const long long *values, Py_ssize_t count, PyObject *last)
{
    PyObject *tuple = PyTuple_New(count + 1);
    Py_ssize_t i;

    if (tuple == NULL) {
        Py_DECREF(last);
        return NULL;
    }
    PyTuple_SET_ITEM(tuple, count, last);
    for (i = 0; i < count; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);

        if (value == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, value);
    }
    return tuple;
}

static PyObject *
has_input(PyObject *Py_UNUSED(module), PyObject *argument)
{
    struct pollfd asked = {.events = POLLIN};
    long fd = PyLong_AsLong(argument);

    if (fd == -1 && PyErr_Occurred())
        return NULL;
    asked.fd = (int)fd;
    return PyBool_FromLong(poll(&asked, 1, 0) > 0);
}

static PyObject *
hear(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    long values[2];
    long long seen;
    PyObject *chunk;

    if (!integers(arguments, given, 2, -1, values))
        return NULL;
    chunk = chunk_of((int)values[0], values[1], &seen);
    return chunk == NULL ? NULL : told(&seen, 1, chunk);
}

static PyObject *
ask(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    long values[4];
    /* when writing began, bytes written, when reading was done */
    long long figures[3] = {0};
    char *request;
    Py_ssize_t length;
    ssize_t written;
    PyObject *chunk;

    if (!integers(arguments, given, 4, 1, values))
        return NULL;
    if (PyBytes_AsStringAndSize(arguments[1], &request, &length) < 0)
        return NULL;
    figures[0] = now();
    written = write((int)values[0], request, (size_t)length);
    if (written < 0)
        written = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    if (written == length) {
        chunk = chunk_of((int)values[2], values[3], &figures[2]);
        if (chunk == NULL)
            return NULL;
    }
    else
        chunk = Py_NewRef(Py_None);
    figures[1] = written;
    return told(figures, 3, chunk);
}

static PyMethodDef functions[] = {
    {"ask", (PyCFunction)(void (*)(void))ask, METH_FASTCALL, NULL},
    {"hear", (PyCFunction)(void (*)(void))hear, METH_FASTCALL, NULL},
    {"has_input", has_input, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_pipes", "See ringmaster.engines.pipes.", 0, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__pipes(void)
{
    return PyModuleDef_Init(&definition);
}
