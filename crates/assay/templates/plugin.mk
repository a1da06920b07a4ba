# Builds lib@NAME@.so, for assay --plugin ./lib@NAME@.so
CFLAGS ?= -O3 -g
CFLAGS += -std=c11 -Wall -Wextra -fPIC -pthread

lib@NAME@.so: @NAME@.c assay_driver.h
	$(CC) $(CFLAGS) -shared -o $@ $< $(LDFLAGS) $(LDLIBS)

clean:
	rm -f lib@NAME@.so

.PHONY: clean
