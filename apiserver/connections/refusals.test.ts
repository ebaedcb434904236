import { expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { Refusals } from './refusals.ts';

it('counts every refusal and tells of each reason once a minute, with how many there were meanwhile', () => {
  const metrics = new MetricsRegistry();
  const lines: object[] = [];
  let now = 0;
  const log = { warn: (fields: object) => void lines.push(fields) };
  const refusals = new Refusals({ metrics, log, now: () => now });
  for (let i = 0; i < 1_000; i++) refusals.note('flood', '10.0.0.7', 'too many');
  refusals.note('plaintext', '10.0.0.8');
  now = 59_999;
  refusals.note('flood', '10.0.0.9');
  now = 60_000;
  refusals.note('flood', '10.0.0.9');
  expect(lines).toEqual([
    { reason: 'flood', peer: '10.0.0.7', detail: 'too many' },
    { reason: 'plaintext', peer: '10.0.0.8' },
    { reason: 'flood', peer: '10.0.0.9', andSince: 1_000 },
  ]);
  const text = formatMetrics(metrics, 'prometheus');
  expect(text).toContain('berth_apiserver_connections_refused_total{reason="flood"} 1002');
  expect(text).toContain('berth_apiserver_connections_refused_total{reason="total-limit"} 0');
});
