/* The example plugin, made to go wrong in the one way that is defined when it is compiled. */
#define assay_plugin good_plugin
#include "hashtable.c"
#undef assay_plugin

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int crashes(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    raise(SIGSEGV);
    return ASSAY_DONE;
}

static int answers_77(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    return 77;
}

static int says_why(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record;
    return failed(error, "out of cheese\nand a second line");
}

static int fills_the_error(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record;
    memset(error->text, 0xff, sizeof error->text);
    return ASSAY_FAILED;
}

static int lies(assay_handle *handle, const void *key, void *payload, assay_error *error)
{
    int answer = hashtable_query(handle, key, payload, error);
    ((unsigned char *)payload)[0] ^= 1;
    return answer;
}

static int hangs(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    while (pause() != 0)
        continue;
    return ASSAY_DONE;
}

/* Interrupts its parent and itself, as a signal to a whole group does. */
static int interrupts(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    kill(getppid(), SIGINT);
    raise(SIGINT);
    return ASSAY_DONE;
}

/* Stops its own process, and leaves its id in a file. */
static int stops(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    FILE *file = fopen("stopped.pid", "w");
    if (file != NULL) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
    raise(SIGSTOP);
    return ASSAY_DONE;
}

static int closes_pipes(assay_handle *handle, const void *record, assay_error *error)
{
    for (int file = 3; file < 256; file++)
        close(file);
    return hangs(handle, record, error);
}

/* Fills every pipe with a line that has no end. */
static int never_ends_a_line(assay_handle *handle, const void *record, assay_error *error)
{
    char garbage[4096];
    (void)handle, (void)record, (void)error;
    memset(garbage, '{', sizeof garbage);
    for (;;)
        for (int file = 2; file < 8; file++)
            if (write(file, garbage, sizeof garbage) < 0)
                continue;
    return ASSAY_DONE;
}

/* A child that keeps all pipes open. */
static int forks(assay_handle *handle, const void *record, assay_error *error)
{
    static int forked;
    if (!forked++ && fork() == 0)
        for (;;)
            pause();
    return hashtable_insert(handle, record, error);
}

/* Takes 256 MiB of memory, and uses it. */
static int eats(assay_handle *handle, const void *record, assay_error *error)
{
    static char *eaten;
    if (eaten == NULL) {
        eaten = malloc(256u << 20);
        if (eaten != NULL)
            memset(eaten, 1, 256u << 20);
    }
    return hashtable_insert(handle, record, error);
}

/* Keeps its store in the memory of its process, and has a file for the look of it. */
static assay_store *kept;

static int remembers(const assay_open_options *options, assay_store **store, assay_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/dummy", options->dir);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return failed(error, "no file");
    for (int at = 0; at < 4096; at++)
        fputc(at, file);
    fclose(file);
    if (!options->create && kept != NULL) {
        kept->schema = options->schema;
        *store = kept;
        return ASSAY_DONE;
    }
    int answer = hashtable_create(options, store, error);
    kept = *store;
    return answer;
}

static int keeps(assay_store *store, assay_error *error)
{
    (void)store, (void)error;
    return ASSAY_DONE;
}

static int no_store(const assay_open_options *options, assay_store **store, assay_error *error)
{
    (void)options, (void)store, (void)error;
    return ASSAY_DONE;
}

#ifdef DIES_AT_LOAD
__attribute__((constructor)) static void die(void)
{
    abort();
}
#endif

#ifdef HANGS_AT_LOAD
__attribute__((constructor)) static void hang(void)
{
    for (;;)
        pause();
}
#endif

const assay_driver *assay_plugin(void)
{
    static assay_driver bad;
    bad = *good_plugin();
    bad.id = "bad";
    (void)crashes, (void)answers_77, (void)says_why, (void)fills_the_error, (void)lies;
    (void)hangs, (void)stops, (void)no_store, (void)closes_pipes, (void)never_ends_a_line;
    (void)forks, (void)eats, (void)remembers, (void)keeps;
    (void)interrupts;
#ifdef HANGS_AT_DESCRIBE
    for (;;)
        pause();
#endif
#if defined(OTHER_VERSION)
    bad.abi_version = 99;
#elif defined(OTHER_SIZE)
    bad.size_bytes -= 8;
#elif defined(NO_TABLE)
    return NULL;
#elif defined(BAD_ID)
    bad.id = "Bad Engine";
#elif defined(TAKEN_ID)
    bad.id = "btreemap";
#elif defined(NO_INSERT)
    bad.insert = NULL;
#elif defined(UNKNOWN_BITS)
    bad.memory_levels = 0x100;
#elif defined(CRASHES)
    bad.insert = crashes;
#elif defined(GARBAGE)
    bad.insert = answers_77;
#elif defined(FAILS)
    bad.insert = says_why;
#elif defined(FILLS_ERROR)
    bad.insert = fills_the_error;
#elif defined(LIES)
    bad.query = lies;
#elif defined(HANGS)
    bad.insert = hangs;
#elif defined(CLOSES_PIPES)
    bad.insert = closes_pipes;
#elif defined(NEVER_ENDS_A_LINE)
    bad.insert = never_ends_a_line;
#elif defined(FORKS)
    bad.insert = forks;
#elif defined(EATS)
    bad.insert = eats;
#elif defined(STOPS)
    bad.insert = stops;
#elif defined(INTERRUPTS)
    bad.insert = interrupts;
#elif defined(REMEMBERS)
    bad.disk_levels = ASSAY_LEVEL_COMMIT;
    bad.create = remembers;
    bad.close = keeps;
#elif defined(NO_STORE)
    bad.create = no_store;
#endif
    return &bad;
}
