/*
 * The pool of threads: that it does each piece once, for any number of threads
 * and callers, and that batches come out the same with it and without.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/pool.h"
#include "cipher/random.h"
#include "emulator.h"
#include "sanitized.h"

enum { SIZE = 4096, MESSAGES = 300, TWEAK = 32, CALLERS = 6, PIECES = 1000 };

static const uint8_t key_bytes[ADIANTUM_KEY_SIZE] = { 7 };

#ifdef SANITIZED
/* The thread sanitizer lets a child of a program with threads make its own. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}
#endif

/* So many threads, also where other processes had made the pool rest. */
static void set_threads(unsigned threads)
{
	adiantum_threads_set(threads);
	pool_forget();
}

/* Threads of this process. */
static int threads_now(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

struct count {
	atomic_int done[PIECES];
	size_t bad;    /* this piece fails */
	int sleep;     /* microseconds for each piece */
	atomic_int alone; /* calls for more than one piece */
	pthread_t caller;
	atomic_int by_others;
};

static int count_pieces(void *job, size_t first, size_t count)
{
	struct count *c = job;

	if (count > 1)
		atomic_fetch_add(&c->alone, 1);
	if (!pthread_equal(pthread_self(), c->caller))
		atomic_fetch_add(&c->by_others, 1);
	if (c->sleep)
		usleep(c->sleep);
	for (size_t i = first; i < first + count; i++) {
		atomic_fetch_add(&c->done[i], 1);
		if (i == c->bad)
			return -EIO;
	}
	return 0;
}

static struct count *count_new(void)
{
	struct count *c = calloc(1, sizeof(*c));

	if (c) {
		c->bad = PIECES;
		c->caller = pthread_self();
	}
	return c;
}

TEST each_piece_once(void)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 8, 9, 100, PIECES };

	for (unsigned threads = 1; threads <= POOL_THREADS_MAX; threads++) {
		set_threads(threads);
		ASSERT_EQ(threads, pool_threads());
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			struct count *c = count_new();

			ASSERT(c);
			ASSERT_EQ(0, pool_run(count_pieces, c, sizes[k]));
			for (size_t i = 0; i < PIECES; i++)
				ASSERT_EQ(i < sizes[k], c->done[i]);
			if (threads == 1)
				ASSERT_EQ(sizes[k] > 1, c->alone);
			free(c);
		}
	}
	PASS();
}

/* Many quick pieces, so that threads often reach for one at the same time. */
TEST quick_pieces(void)
{
	struct count *c = count_new();

	ASSERT(c);
	for (int round = 1; round <= 500; round++) {
		set_threads(4);
		ASSERT_EQ(0, pool_run(count_pieces, c, PIECES));
		for (size_t i = 0; i < PIECES; i++)
			if (c->done[i] != round)
				FAILm("not done once");
	}
	free(c);
	PASS();
}

/* Others than the caller take part, no more than they may, and none that are
 * not asked for are made. */
TEST helpers_help(void)
{
	for (unsigned threads = 2; threads <= 4; threads++) {
		struct count *c = count_new();
		int before = threads_now();

		ASSERT(c);
		c->sleep = 2000;
		set_threads(threads);
		ASSERT_EQ(0, pool_run(count_pieces, c, 40));
		ASSERT(c->by_others > 0);
		ASSERT(c->by_others < 40);
		ASSERT_EQ(0, c->alone);
		ASSERT(threads_now() <= before + 1);
		free(c);
	}
	PASS();
}

/* A small job, and a batch below the size that gains, make no threads. */
TEST lazily_made(void)
{
	static uint8_t text[SIZE], tweak[TWEAK];
	struct adiantum_message m = { text, text, tweak, SIZE };
	struct adiantum_key *key;
	int before = threads_now(); /* with a sanitizer's or an emulator's own */

	set_threads(4);
	ASSERT_EQ(0, adiantum_key_new(&key, ADIANTUM_XCHACHA12, key_bytes));
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(0, adiantum_encrypt_batch(key, TWEAK, &m, 1));
	adiantum_key_free(key);
	ASSERT_EQ(before, threads_now());
	PASS();
}

/* After long pieces without work for the processor, which count as a loss, the
 * pool rests for a while; then it is tried again. */
TEST rests_after_a_loss(void)
{
	struct count *c = count_new();
	bool alone = false, together = false;

	ASSERT(c);
	set_threads(2);
	c->sleep = 1000;
	ASSERT_EQ(0, pool_run(count_pieces, c, 4));
	for (int i = 0; i < 1000 && !(alone && together); i++) {
		atomic_store(&c->alone, 0);
		c->sleep = 0;
		ASSERT_EQ(0, pool_run(count_pieces, c, 4));
		if (c->alone)
			alone = true;
		else if (alone)
			together = true;
		usleep(1000);
	}
	ASSERT(alone);
	ASSERT(together);
	free(c);
	PASS();
}

TEST errors_handed_on(void)
{
	static const size_t bad[] = { 0, 1, 50, PIECES - 1 };

	for (unsigned threads = 1; threads <= 4; threads++) {
		set_threads(threads);
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
			struct count *c = count_new();

			ASSERT(c);
			c->bad = bad[k];
			ASSERT_EQ(-EIO, pool_run(count_pieces, c, PIECES));
			c->bad = PIECES;
			ASSERT_EQ(0, pool_run(count_pieces, c, PIECES));
			free(c);
		}
	}
	PASS();
}

struct texts {
	uint8_t tweaks[MESSAGES][TWEAK];
	uint8_t plain[MESSAGES * SIZE], cipher[MESSAGES * SIZE];
	uint8_t out[MESSAGES * SIZE];
};

static struct texts *texts_new(uint64_t seed)
{
	struct texts *t = malloc(sizeof(*t));

	if (t) {
		random_fill(&seed, t->tweaks, sizeof(t->tweaks));
		random_fill(&seed, t->plain, sizeof(t->plain));
	}
	return t;
}

/* A batch of `count` messages of up to SIZE bytes; if `mixed`, of many sizes. */
static bool crypt_all(const struct adiantum_key *key, bool encrypt,
                      struct texts *t, uint8_t *dst, const uint8_t *src,
                      size_t count, bool mixed)
{
	struct adiantum_message m[MESSAGES];

	for (size_t i = 0; i < count; i++)
		m[i] = (struct adiantum_message){
			dst + i * SIZE, src + i * SIZE, t->tweaks[i],
			mixed ? SIZE - i * 13 % 3000 : SIZE,
		};
	return !(encrypt ? adiantum_encrypt_batch(key, TWEAK, m, count)
	                 : adiantum_decrypt_batch(key, TWEAK, m, count));
}

TEST same_bytes(bool mixed)
{
	static const size_t counts[] = { 1, 2, 24, 25, 47, 48, 49, 63, 64, 65,
		                         128, 255, 256, 257, 258, MESSAGES };
	struct texts *t = texts_new(mixed);
	struct adiantum_key *key;

	ASSERT(t);
	ASSERT_EQ(0, adiantum_key_new(&key, ADIANTUM_XCHACHA12, key_bytes));
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		size_t n = counts[k];

		memcpy(t->cipher, t->plain, n * SIZE);
		adiantum_threads_set(1);
		ASSERT(crypt_all(key, true, t, t->cipher, t->plain, n, mixed));
		for (unsigned threads = 2; threads <= POOL_THREADS_MAX;
		     threads += 3) {
			set_threads(threads);
			memcpy(t->out, t->plain, n * SIZE);
			ASSERT(crypt_all(key, true, t, t->out, t->plain, n, mixed));
			ASSERT_MEM_EQ(t->cipher, t->out, n * SIZE);
			ASSERT(crypt_all(key, false, t, t->out, t->out, n, mixed));
			ASSERT_MEM_EQ(t->plain, t->out, n * SIZE);
		}
	}
	adiantum_key_free(key);
	free(t);
	PASS();
}

/* A message that is too short is found before anything is done. */
TEST short_message(void)
{
	struct texts *t = texts_new(1);
	struct adiantum_message m[MESSAGES];
	struct adiantum_key *key;

	ASSERT(t);
	ASSERT_EQ(0, adiantum_key_new(&key, ADIANTUM_XCHACHA12, key_bytes));
	set_threads(4);
	memcpy(t->out, t->plain, sizeof(t->out));
	for (size_t i = 0; i < MESSAGES; i++)
		m[i] = (struct adiantum_message){ t->out + i * SIZE,
			t->out + i * SIZE, t->tweaks[i], i == 299 ? 15 : SIZE };
	ASSERT_EQ(-EINVAL, adiantum_encrypt_batch(key, TWEAK, m, MESSAGES));
	ASSERT_MEM_EQ(t->plain, t->out, sizeof(t->out));
	adiantum_key_free(key);
	free(t);
	PASS();
}

struct caller {
	const struct adiantum_key *key;
	struct texts *texts;
	atomic_bool *stop; /* NULL: a number of rounds */
	bool wrong;
};

static void *call(void *argument)
{
	struct caller *c = argument;

	for (int i = 0; c->stop ? !*c->stop : i < 12; i++) {
		size_t n = 40 + (size_t)i * 29 % (MESSAGES - 40);
		struct texts *t = c->texts;

		c->wrong |= !crypt_all(c->key, true, t, t->out, t->plain, n, false);
		c->wrong |= !!memcmp(t->out, t->cipher, n * SIZE);
		c->wrong |= !crypt_all(c->key, false, t, t->out, t->out, n, false);
		c->wrong |= !!memcmp(t->out, t->plain, n * SIZE);
	}
	return NULL;
}

static bool callers_new(struct caller *callers, int n, atomic_bool *stop,
                        const struct adiantum_key *key)
{
	adiantum_threads_set(1);
	for (int i = 0; i < n; i++) {
		struct texts *t = texts_new(i);

		callers[i] = (struct caller){ key, t, stop, false };
		if (!t || !crypt_all(key, true, t, t->cipher, t->plain, MESSAGES,
		                 false))
			return false;
	}
	return true;
}

TEST many_callers(void)
{
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	struct adiantum_key *key;

	ASSERT_EQ(0, adiantum_key_new(&key, ADIANTUM_XCHACHA12, key_bytes));
	ASSERT(callers_new(callers, CALLERS, NULL, key));
	set_threads(POOL_THREADS_MAX);
	for (int i = 0; i < CALLERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, call,
		                            &callers[i]));
	for (int i = 0; i < CALLERS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		ASSERT(!callers[i].wrong);
		free(callers[i].texts);
	}
	adiantum_key_free(key);
	PASS();
}

/* Forks while the pool is at work, at different moments: each child uses a pool
 * of its own. It has no other threads, so a wait for them would never end; the
 * alarm ends it. */
TEST forks(void)
{
	struct caller callers[2];
	atomic_bool stop = false;
	struct adiantum_key *key;
	pthread_t thread;

	if (emulated())
		SKIPm("qemu-user fails when a program with threads forks");
	ASSERT_EQ(0, adiantum_key_new(&key, ADIANTUM_XCHACHA12, key_bytes));
	ASSERT(callers_new(callers, 2, &stop, key));
	set_threads(4);
	ASSERT_EQ(0, pthread_create(&thread, NULL, call, &callers[0]));
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t child = fork();

		ASSERT(child >= 0);
		if (child == 0) {
			struct count *c = count_new();

			alarm(60);
			callers[1].stop = NULL;
			call(&callers[1]);
			set_threads(4);
			c->sleep = 2000;
			pool_run(count_pieces, c, 40);
			_exit(callers[1].wrong ? 1 : c->by_others ? 0 : 2);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_EQ(0, status);
		usleep(300 * (unsigned)i);
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT(!callers[0].wrong);
	free(callers[0].texts);
	free(callers[1].texts);
	adiantum_key_free(key);
	PASS();
}

/* This test's child process: no thread can be made, and all is done alone. */
static int without_threads(void)
{
	const struct rlimit none = { 0, 0 };
	struct count *c = count_new();
	int before = threads_now();

	alarm(60);
	set_threads(4);
	if (!c)
		return 10;
	/* The limit on processes does not hold for root. */
	if (setrlimit(RLIMIT_NPROC, &none) ||
	    (getuid() == 0 && (setgid(65534) || setuid(65534))))
		return 11;
	c->sleep = 100;
	for (int k = 1; k <= 3; k++) {
		if (pool_run(count_pieces, c, 40))
			return 12;
		for (int i = 0; i < 40; i++)
			if (c->done[i] != k)
				return 13;
	}
	if (c->by_others)
		return 14;
	return threads_now() == before ? 0 : 15;
}

TEST no_threads_to_be_had(void)
{
	int status;
	pid_t child = fork();

	ASSERT(child >= 0);
	if (child == 0)
		_exit(without_threads());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	PASS();
}

/* This program anew with a value of FRONDFS_THREADS; gives its number. */
static int number_for(const char *value)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (value)
			setenv("FRONDFS_THREADS", value, 1);
		else
			unsetenv("FRONDFS_THREADS");
		exec_self((const char *const[]){ "", "number", NULL });
		_exit(99);
	}
	if (child < 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST environment(void)
{
	int usual = number_for(NULL);

	ASSERT(usual >= 1 && usual <= POOL_THREADS_MAX);
	ASSERT_EQ(1, number_for("1"));
	ASSERT_EQ(3, number_for("3"));
	ASSERT_EQ(POOL_THREADS_MAX, number_for("1000"));
	ASSERT_EQ(POOL_THREADS_MAX, number_for("99999999999999999999999"));
	ASSERT_EQ(usual, number_for("0"));
	ASSERT_EQ(usual, number_for(""));
	ASSERT_EQ(usual, number_for("-1"));
	ASSERT_EQ(usual, number_for("2x"));
	ASSERT_EQ(usual, number_for("many"));
	PASS();
}

static void *nothing(void *unused)
{
	return unused;
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "number"))
		return (int)adiantum_threads();
	GREATEST_MAIN_BEGIN();
	/* The thread sanitizer makes one of its own beside the first one. */
	if (!pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
	usleep(20000); /* until the kernel has put it away, too */
	RUN_TEST(lazily_made); /* first, while there are none */
	RUN_TEST(no_threads_to_be_had);
	RUN_TEST(helpers_help); /* while there are as many as were asked for */
	RUN_TEST(each_piece_once);
	RUN_TEST(quick_pieces);
	RUN_TEST(rests_after_a_loss);
	RUN_TEST(errors_handed_on);
	greatest_set_test_suffix("equal");
	RUN_TESTp(same_bytes, false);
	greatest_set_test_suffix("mixed");
	RUN_TESTp(same_bytes, true);
	RUN_TEST(short_message);
	RUN_TEST(many_callers);
	RUN_TEST(forks);
	RUN_TEST(environment);
	GREATEST_MAIN_END();
}
