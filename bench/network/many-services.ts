import type { Client } from '../../client/index.ts';
import { inParallel } from '../figure.ts';

const namespace = 'bench';
const endpointsEach = 3;
const atOnce = 32;

/** Creates Services without selectors, each with a slice of three endpoints, for the agents to carry. */
export async function createServices(client: Pick<Client, 'namespaces' | 'services' | 'endpointSlices'>, count: number) {
  await client.namespaces.create({ metadata: { name: namespace } });
  await inParallel(count, atOnce, async (index) => {
    const name = `s${index}`;
    await client.services.create({ metadata: { namespace, name }, spec: { ports: [{ name: 'http', port: 80 }] } });
    await client.endpointSlices.create({
      metadata: { namespace, name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      endpoints: Array.from({ length: endpointsEach }, (_, at) => ({
        addresses: [`10.42.${100 + (index % 100)}.${1 + at + endpointsEach * (Math.floor(index / 100) % 80)}`],
        conditions: { ready: true, serving: true, terminating: false },
      })),
    });
  });
}
