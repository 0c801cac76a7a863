"""Minimax polynomials: P(z) of degree n with the smallest max |w(z) * (P(z) - f(z))| on [a, b], by the exchange of Remez.

    coefficients(f, w, a, b, n, bits=24, fixed=[...])

rounds to `bits` one coefficient at a time from the lowest, fitting the rest again, so that the later ones take up the rounding
of the earlier.  `fixed` are leading coefficients that are given."""
import mpmath as mp

mp.mp.dps = 42


def fit(f, w, a, b, n, low, grid=None):
	"""-> (coefficients low..n as mpf, max weighted error); f has the terms below `low` taken off already"""
	m = n - low + 1
	a, b = mp.mpf(a), mp.mpf(b)
	if grid is None:
		grid = points(f, w, a, b, n)
	xs, fs, ws = grid
	N = len(xs)
	pick = sorted(set(int(round((1 - mp.cos(mp.pi * i / m)) / 2 * (N - 1))) for i in range(m + 1)))
	while len(pick) < m + 1:
		pick = sorted(set(pick + [next(i for i in range(N) if i not in pick)]))
	best = None
	for _ in range(14):
		A, rhs = mp.matrix(m + 1, m + 1), mp.matrix(m + 1, 1)
		for r, i in enumerate(pick):
			z = xs[i]
			for k in range(m):
				A[r, k] = z ** (low + k)
			A[r, m] = (-1) ** r / ws[i]
			rhs[r] = fs[i]
		sol = mp.lu_solve(A, rhs)
		c = [sol[k] for k in range(m)]
		err = []
		for i in range(N):
			p = mp.mpf(0)
			for k in range(m - 1, -1, -1):
				p = p * xs[i] + c[k]
			err.append(ws[i] * (p * xs[i] ** low - fs[i]))
		top = max(abs(e) for e in err)
		if best is None or top < best[1]:
			best = (c, top)
		# the largest point of each run of one sign
		runs, i = [], 0
		while i < N:
			j, k = i, i
			while j < N and (err[j] >= 0) == (err[i] >= 0):
				if abs(err[j]) > abs(err[k]):
					k = j
				j += 1
			runs.append(k)
			i = j
		while len(runs) > m + 1:
			drop = 0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1
			if len(runs) > m + 2:
				inner = min(range(len(runs) - 1), key=lambda q: max(abs(err[runs[q]]), abs(err[runs[q + 1]])))
				if max(abs(err[runs[inner]]), abs(err[runs[inner + 1]])) < min(abs(err[runs[0]]), abs(err[runs[-1]])):
					del runs[inner:inner + 2]
					continue
			del runs[drop]
		if len(runs) < m + 1 or runs == pick:
			break
		pick = runs
		if top < abs(sol[m]) * mp.mpf("1.001"):
			break
	return best


def points(f, w, a, b, n):
	N = 30 * (n + 2)
	a, b = mp.mpf(a), mp.mpf(b)
	xs = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / N) for i in range(N)]
	return xs, [mp.mpf(f(x)) for x in xs], [mp.mpf(w(x)) for x in xs]


def rounded(v, bits):
	if v == 0:
		return mp.mpf(0)
	e = mp.floor(mp.log(abs(v), 2)) - bits + 1
	return mp.nint(v / mp.mpf(2) ** e) * mp.mpf(2) ** e


def coefficients(f, w, a, b, n, bits=24, fixed=(), verbose=True, odd_bits=None):
	xs, fs, ws = points(f, w, a, b, n)
	out = [mp.mpf(c) for c in fixed]
	first = None
	while len(out) <= n:
		rest = [fs[i] - sum(c * xs[i] ** k for k, c in enumerate(out)) for i in range(len(xs))]
		c, top = fit(f, w, a, b, n, len(out), (xs, rest, ws))
		if first is None:
			first = top
		out.append(rounded(c[0], (odd_bits or {}).get(len(out), bits)))
	final = max(abs(ws[i] * (sum(c * xs[i] ** k for k, c in enumerate(out)) - fs[i])) for i in range(len(xs)))
	if verbose:
		print("# degree %d: error 2^%s exact, 2^%s rounded" % (n, mp.nstr(mp.log(first, 2), 5), mp.nstr(mp.log(final, 2), 5)))
	return [float(c) for c in out]


def rational(f, w, a, b, m, n, warp=lambda s: s, N=None, rounds=60):
	"""P of degree m over Q of degree n, Q(0) = 1, near the smallest max |w * (P/Q - f)| on [a, b]: least squares of P - f Q, weighted
	by the last Q, with Lawson's update of the weights.  `warp` maps [0, 1] to [0, 1] and places the points.  -> (P, Q)"""
	N = N or 6 * (m + n + 2)
	a, b = mp.mpf(a), mp.mpf(b)
	xs = [a + (b - a) * mp.mpf(warp((1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / N)) / 2)) for i in range(N)]
	fs, ws = [mp.mpf(f(x)) for x in xs], [mp.mpf(w(x)) for x in xs]
	lam, q, best = [mp.mpf(1)] * N, [mp.mpf(1)] * N, None
	scale = max(abs(a), abs(b))
	k = m + 1 + n
	for _ in range(rounds):
		A, r = mp.matrix(k, k), mp.matrix(k, 1)
		rows = []
		for i in range(N):
			g = mp.sqrt(lam[i]) * ws[i] / q[i]
			t = xs[i] / scale
			rows.append(([g * t ** j for j in range(m + 1)] + [-g * fs[i] * t ** j for j in range(1, n + 1)], g * fs[i]))
		for u in range(k):
			for v in range(u, k):
				A[u, v] = A[v, u] = mp.fsum(row[0][u] * row[0][v] for row in rows)
			r[u] = mp.fsum(row[0][u] * row[1] for row in rows)
		s = mp.lu_solve(A, r)
		P = [s[j] / scale ** j for j in range(m + 1)]
		Q = [mp.mpf(1)] + [s[m + j] / scale ** j for j in range(1, n + 1)]
		q = [mp.polyval(Q[::-1], x) for x in xs]
		e = [abs(ws[i] * (mp.polyval(P[::-1], xs[i]) / q[i] - fs[i])) for i in range(N)]
		top = max(e)
		if best is None or top < best[0]:
			best = (top, P, Q)
		lam = [lam[i] * e[i] for i in range(N)]
		total = mp.fsum(lam)
		lam = [max(v * N / total, mp.mpf(10) ** -20) for v in lam]
	print("# rational %d/%d: error 2^%s" % (m, n, mp.nstr(mp.log(best[0], 2), 5)), flush=True)
	return best[1], best[2]
