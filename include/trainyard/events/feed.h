/* The newest events of each tenant that somebody reads, in memory: made once, read by many at their
 * own pace. A tenant without readers costs nothing.
 *
 * A feed holds the last events up to 1 MiB. Who falls behind that reads the durable log instead and
 * comes back: so the memory of a slow reader is bounded by what all share. Any thread; one lock a
 * tenant, held for pointers only. */
#ifndef TRAINYARD_EVENTS_FEED_H
#define TRAINYARD_EVENTS_FEED_H

#include "trainyard/events/text.h"

enum { TY_FEED_BYTES = 1024 * 1024, TY_FEED_EVENTS = 4096 };

struct ty_feeds;
struct ty_feed;

ty_status ty_feeds_create(struct ty_feeds **feeds_out, struct ty_error *err) TY_MUST_CHECK;
void ty_feeds_destroy(struct ty_feeds *feeds); /* no readers are left; takes NULL */

/* --- readers --- */

/* Whose events, and which of them; the caller's memory, zeroed, until it has left. A reader belongs
 * to one thread at a time, but for the callback. */
struct ty_feed_reader {
    /* Set before joining. */
    const struct ty_event_filter *filter; /* borrowed; NULL = all */
    int64_t position; /* everything up to it was read, or is not wanted; the feed's while live */
    void (*wake)(void *context); /* there is something new; under the feed's lock: must not wait
                                    and not call back into the feed */
    void *context;
    /* The feed's own. */
    struct ty_feed *feed;
    struct feed_job *job;
    struct ty_feed_reader *next;
    struct ty_feed_reader **back;
    bool live;
};

/* Join, not live yet. `head` is a sequence that is committed: a feed that is made for this reader
 * begins behind it. A filter that names a job makes it cost nothing when other jobs change.
 * TY_NO_MEMORY. */
ty_status ty_feed_join(struct ty_feeds *feeds, int64_t tenant, const char *tenant_name,
                       int64_t head, struct ty_feed_reader *reader,
                       struct ty_error *err) TY_MUST_CHECK;
void ty_feed_leave(struct ty_feeds *feeds, struct ty_feed_reader *reader); /* not joined: nothing */

/* From here on the reader is woken. False: something beyond its position is no longer in memory;
 * read the log first. */
bool ty_feed_go_live(struct ty_feed_reader *reader);

int64_t ty_feed_position(const struct ty_feed_reader *reader);

typedef enum { TY_FEED_EVENT, TY_FEED_NOTHING, TY_FEED_BEHIND } ty_feed_answer;

/* The next event that the reader wants, with a reference. TY_FEED_BEHIND: it is no longer in
 * memory, and the reader is not live any more. */
ty_feed_answer ty_feed_next(struct ty_feed_reader *reader, struct ty_event_text **text_out);

/* --- the one who fills the feeds --- */

/* The tenants have new events in the log; a tenant 0 stands for all. Cheap when nobody reads. */
void ty_feeds_note(struct ty_feeds *feeds, const int64_t *tenants, size_t count);

/* Wait for a feed that has something to be read from the log. It stays until it is given back.
 * NULL: closed. */
struct ty_feed *ty_feeds_await(struct ty_feeds *feeds);
void ty_feeds_give_back(struct ty_feeds *feeds, struct ty_feed *feed, bool again);
void ty_feeds_close(struct ty_feeds *feeds); /* ends the wait */

int64_t ty_feed_tenant(const struct ty_feed *feed);
const char *ty_feed_tenant_name(const struct ty_feed *feed);
int64_t ty_feed_head(const struct ty_feed *feed); /* for the one who fills */

/* Append events in the order of their sequences and wake who wants one. Takes the references. */
void ty_feed_publish(struct ty_feed *feed, struct ty_event_text *const *texts, size_t count);

#endif
