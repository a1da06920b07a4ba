/* Nothing: the double is whole in nudb.hpp. */
