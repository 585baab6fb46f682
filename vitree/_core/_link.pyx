"""Atomic replacement of a file by an unnamed one (Linux), even if this process is killed."""

from os import strerror

cdef extern from *:
    """
    #ifdef __linux__
    #include <errno.h>
    #include <fcntl.h>
    #include <signal.h>
    #include <stdio.h>
    #include <sys/wait.h>
    #include <unistd.h>
    /* A link cannot replace a file and a rename needs a name: two calls. A child makes both, with the memory of this
       process, which sleeps until the child has ended. A signal that ends this process does not reach the child. */
    static int vt_replace(const char *from, int folder, const char *name, const char *target) {
        volatile int error = 0;
        sigset_t all, before;
        pid_t child;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        child = vfork();
        if (child == 0) {
            if (linkat(AT_FDCWD, from, folder, name, AT_SYMLINK_FOLLOW) != 0) {
                error = errno;
            } else if (renameat(folder, name, folder, target) != 0) {
                error = errno;
                unlinkat(folder, name, 0);
            }
            _exit(0);
        }
        if (child < 0) error = errno;
        else while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return error;
    }
    #else
    #include <errno.h>
    static int vt_replace(const char *from, int folder, const char *name, const char *target) { return ENOSYS; }
    #endif
    """
    int vt_replace(const char *start, int folder, const char *name, const char *target) nogil


def replace(int fd, int folder, bytes name, bytes target):
    """Link the file of a descriptor in a folder by a name, and rename it to the target atomically, or raise OSError."""
    cdef bytes start = b"/proc/self/fd/%d" % fd
    cdef const char* a = start
    cdef const char* b = name
    cdef const char* c = target
    cdef int error
    with nogil:
        error = vt_replace(a, folder, b, c)
    if error:
        raise OSError(error, strerror(error))
