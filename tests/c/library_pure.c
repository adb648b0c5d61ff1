/* The same names, and no variable at all. */
void keep(int value) { (void)value; }
int kept(void) { return 0; }
