import { afterAll, beforeAll, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type Convert, good, handleConversions, place, places } from './conversion-harness.ts';
import { establish } from './custom-kinds-harness.ts';
import { sumOf } from './door-attacker.ts';
import { asks } from './kubernetes-asks.ts';
import { startWebhooks, type WebhookServer } from './webhook-harness.ts';

// What is measured of the calls of conversion webhooks.
const metrics = new MetricsRegistry();
const definition = 'places.stable.example.com';
const v2 = 'stable.example.com/v2/Place';
const path = (version: string, name: string): string => `/apis/stable.example.com/${version}/namespaces/default/places/${name}`;
let server: RunningServer;
let hooks: WebhookServer;
let hook: ReturnType<typeof handleConversions>;
const ask = asks(() => server);

beforeAll(async () => {
  [server, hooks] = await Promise.all([startServer({ metrics, kubernetesListen: '127.0.0.1:0' }), startWebhooks()]);
  hook = handleConversions(hooks, '/convert');
  await establish(server, places(hooks.at('/convert')));
});
afterAll(async () => {
  await server.stop();
  await server.remove();
  hooks.close();
});

it.each<[string, Convert]>([
  ['', good],
  ['malformed_response', ({ uid }) => ({ uid, result: { status: 'Failure', message: 'no' } })],
  ['partial_response', (request) => ({ ...good(request), convertedObjects: [] })],
  ['invalid_converted_object', (request) => ({ ...good(request), convertedObjects: [{ kind: 'Other' }] })],
  ['call', (request) => ({ ...good(request), more: 'x'.repeat(9_000_000) })],
])('a call is counted by what became of the call: "%s"', async (type, convert) => {
  const name = `counted-${type.replaceAll('_', '-') || 'well'}`;
  await server.client.objects.create(v2, place('v2', name, { host: 'a', port: '1' }));
  const result =
    type === '' ? 'result="success",failure_type=""' : `result="failure",failure_type="conversion_webhook_${type}_failure"`;
  const versions = `crd_name="${definition}",from_version="v2",to_version="v1",succeeded="${type === ''}"`;
  const counted = () => [
    sumOf(metrics, `apiserver_conversion_webhook_request_total{${result}}`),
    sumOf(metrics, `apiserver_conversion_webhook_duration_seconds_count{${result}}`),
    sumOf(metrics, `apiserver_crd_conversion_webhook_duration_seconds_count{${versions}}`),
  ];
  const before = counted();
  hook.use(convert);
  expect((await ask(path('v1', name))).code).toBe(type === '' ? 200 : 500);
  expect(counted()).toEqual(before.map((each) => each + 1));
});
