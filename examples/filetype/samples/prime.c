#include <stdio.h>

/* print the primes below a hundred */
static int is_prime(int n)
{
	if (n < 2) return 0;
	for (int i = 2; i * i <= n; i++)
		if (n % i == 0) return 0;
	return 1;
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		if (is_prime(i)) printf("%d\n", i);
	return 0;
}
