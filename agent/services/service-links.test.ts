import { beforeEach, expect, it } from 'vitest';
import type { Pod, Service } from '../../api/generated/types.ts';
import { createFakeClock, type FakeClock } from '../../test/fakes/fake-clock.ts';
import { ServiceLinks } from './service-links.ts';

const service = (namespace: string, name: string): Service => ({
  metadata: { namespace, name },
  spec: { clusterIP: '10.43.0.9', ports: [{ protocol: 'TCP', port: 80 }] },
});
const services = [service('a', 'web'), service('b', 'db')];
const kubernetes = service('default', 'kubernetes');
const servicesIn = (namespace: string) => services.filter(({ metadata }) => metadata?.namespace === namespace);
const pod = (spec: Pod['spec'] = {}, uid = 'u'): Pod => ({ metadata: { namespace: 'a', name: 'p', uid }, spec });
const staticUid = '0123456789abcdef0123456789abcdef';
const routed = '10.42.0.7';

let clock: FakeClock;
let links: ServiceLinks;
const hostsOf = async (given: Pod, address: string | undefined = routed) =>
  [...(await links.of(given, address)).keys()].filter((name) => name.endsWith('_SERVICE_HOST'));

beforeEach(() => {
  clock = createFakeClock();
  links = new ServiceLinks(clock);
  void links.run(new AbortController().signal);
});

function know(): void {
  links.carriedFor(['10.42.0.0/16']);
  links.known(servicesIn);
}

it.each<[string, Pod, string | undefined, string[]]>([
  ["a pod in the routed network: its namespace's", pod(), routed, ['WEB_SERVICE_HOST']],
  ['a pod that says so', pod({ enableServiceLinks: true }), routed, ['WEB_SERVICE_HOST']],
  ["a pod in the machine's network", pod({ hostNetwork: true }), '10.0.0.1', ['WEB_SERVICE_HOST']],
  ['none for a pod that turned them off', pod({ enableServiceLinks: false }), routed, []],
  ["none for a pod in the engine's network", pod(), '172.17.0.4', []],
  ['none for a pod without an address', pod(), '', []],
])('are given to %s', async (_, given, address, hosts) => {
  know();
  expect(await hostsOf(given, address)).toEqual(hosts);
});

it.each<[string, Pod['spec'], string[]]>([
  ['a pod of another namespace', {}, ['KUBERNETES_SERVICE_HOST', 'WEB_SERVICE_HOST']],
  ['a pod that turned variables off', { enableServiceLinks: false }, ['KUBERNETES_SERVICE_HOST']],
])('tell %s of the Service kubernetes too', async (_, spec, hosts) => {
  services.push(kubernetes);
  know();
  expect(await hostsOf(pod(spec))).toEqual(hosts);
  services.pop();
});

it('tell of the Service kubernetes of "default", not of one of that name in the namespace', async () => {
  const own = { ...service('a', 'kubernetes'), spec: { clusterIP: '10.43.0.77', ports: [{ port: 1 }] } };
  services.push(own, { ...kubernetes, spec: { ...kubernetes.spec, clusterIP: 'None' } });
  know();
  const hostOf = async () => (await links.of(pod(), routed)).get('KUBERNETES_SERVICE_HOST');
  expect(await hostOf()).toBe('10.43.0.77');
  services.splice(-1, 1, kubernetes);
  expect(await hostOf()).toBe('10.43.0.9');
  services.splice(-2);
});

it('are those that there are when a container is made', async () => {
  know();
  expect(await hostsOf(pod())).toHaveLength(1);
  services.push(service('a', 'late'));
  expect(await hostsOf(pod())).toEqual(['LATE_SERVICE_HOST', 'WEB_SERVICE_HOST']);
  services.pop();
});

it('are waited for while the agent starts', async () => {
  const [early, off] = [hostsOf(pod()), hostsOf(pod({ enableServiceLinks: false }))];
  await clock.advance(5_000);
  know();
  expect(await early).toEqual(['WEB_SERVICE_HOST']);
  expect(await off).toEqual([]);
});

it('hold up pods of the API while Services are not known, and no static pods', async () => {
  links.carriedFor(['10.42.0.0/16']);
  const [ofApi, ofFile] = [hostsOf(pod()), hostsOf(pod({}, staticUid))];
  const refused = expect(ofApi).rejects.toThrow('the Services of the cluster are not known yet');
  await clock.advance(6_000);
  await refused;
  expect(await ofFile).toEqual([]);
  links.known(servicesIn);
  expect(await hostsOf(pod())).toEqual(['WEB_SERVICE_HOST']);
});

it("hold up pods of the machine's network while the node's is late, half a minute at most, and no static pods", async () => {
  const ofHost = () => hostsOf(pod({ hostNetwork: true }), '10.0.0.1');
  const early = expect(ofHost()).rejects.toThrow('the network of the node is not there yet');
  await clock.advance(6_000);
  await early;
  expect(await hostsOf(pod({ hostNetwork: true }, staticUid), '10.0.0.1')).toEqual([]);
  await clock.advance(23_000);
  await expect(ofHost()).rejects.toThrow('the network of the node is not there yet');
  await clock.advance(1_000);
  expect(await ofHost()).toEqual([]);
  know();
  expect(await ofHost()).toEqual(['WEB_SERVICE_HOST']);
});

it('are none where nothing carries Services, as with an older server', async () => {
  const early = hostsOf(pod());
  await clock.advance(6_000);
  expect(await early).toEqual([]);
});
