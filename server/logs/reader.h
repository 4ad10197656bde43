/* A reader's inside, shared by reader.c and tail.c. */
#ifndef TY_LOGS_READER_H
#define TY_LOGS_READER_H

/* Never changes after it is opened: any thread may use it. */
struct ty_log_reader {
    int log_fd;
    int index_fd; /* -1 when the index is gone: then the log has no attempts, times or seal */
};

#endif
