import type { MetricsRegistry, Reading } from '../api/metrics/index.ts';
import { apiserverMetrics } from './metrics.ts';
import type { Amount, NamespaceLedger } from './registry/ledgers/namespace-ledger.ts';

/** As many namespaces have lines of their own: metrics stay bounded however many there are. */
const SHOWN = 50;
const OTHERS = '(others)';

/** What the largest namespaces hold, looked up when the metrics are read. */
export function measureNamespaces(metrics: MetricsRegistry, ledger: NamespaceLedger): void {
  const each = (value: (amount: Readonly<Amount>) => number) => (): Reading[] =>
    largest(ledger).map(([namespace, amount]) => ({ labels: [namespace], value: value(amount) }));
  metrics.read(
    apiserverMetrics.namespaceBytes,
    each(({ bytes }) => bytes),
  );
  metrics.read(
    apiserverMetrics.namespaceObjects,
    each(({ objects }) => objects),
  );
  metrics.read(apiserverMetrics.namespaceRefusals, () =>
    Object.entries(ledger.refused).map(([limit, value]) => ({ labels: [limit], value })),
  );
}

function largest(ledger: NamespaceLedger): (readonly [string, Readonly<Amount>])[] {
  const all = [...ledger.all()].sort(([, a], [, b]) => b.bytes - a.bytes);
  if (all.length <= SHOWN) return all;
  const others: Amount = { bytes: 0, objects: 0 };
  for (const [, { bytes, objects }] of all.slice(SHOWN)) {
    others.bytes += bytes;
    others.objects += objects;
  }
  return [...all.slice(0, SHOWN), [OTHERS, others]];
}
