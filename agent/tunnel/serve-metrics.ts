import { notFound } from '../../api/errors/index.ts';
import { formatMetrics, type MetricsRegistry } from '../../api/metrics/index.ts';
import type { TunnelStream } from '../../client/client.ts';

/** In bytes; what is on its way to a reader that stands still is a few of these. */
const pieceBytes = 64 * 1024;

/** Sends a page of the agent's metrics piece by piece. Throws NOT_FOUND for one that there is not. */
export async function serveMetrics(metrics: MetricsRegistry, path: string, stream: TunnelStream): Promise<void> {
  const make = path === '/metrics' ? async () => formatMetrics(metrics, 'prometheus') : metrics.page(path);
  if (!make) throw notFound({ kind: 'page', name: path.slice(0, 100) });
  const text = Buffer.from(await make());
  // An empty page has a piece, too: it says that the page is there.
  for (let at = 0; at === 0 || at < text.length; at += pieceBytes)
    await stream.write({ metricsPage: { data: text.subarray(at, at + pieceBytes) } });
}
