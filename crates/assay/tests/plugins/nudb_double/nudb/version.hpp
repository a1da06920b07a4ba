#define NUDB_VERSION_STRING "0.0-double"
