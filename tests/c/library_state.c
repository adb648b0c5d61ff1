/* A library with one variable. */
static int kept_value;

void keep(int value) { kept_value = value; }
int kept(void) { return kept_value; }
