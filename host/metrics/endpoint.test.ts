import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { type Endpoint, openMetricsEndpoint } from './endpoint.ts';

const open: Endpoint[] = [];
afterEach(() => {
  for (const endpoint of open.splice(0)) endpoint.close();
});

async function start(registry = new MetricsRegistry(), port = 17_444): Promise<Endpoint> {
  // Ports from here up may be taken by other processes; the endpoint is expected to choose another.
  const endpoint = await openMetricsEndpoint({ registry, address: `127.0.0.1:${port}`, mayMove: true });
  open.push(endpoint);
  return endpoint;
}

function registryWithCalls(): MetricsRegistry {
  const registry = new MetricsRegistry();
  registry.counter({ name: 'calls_total', type: 'counter', help: 'Calls.' }).with().inc();
  return registry;
}

describe('the metrics endpoint', () => {
  it("answers GET /metrics with Prometheus' text format", async () => {
    const { address } = await start(registryWithCalls());
    const response = await fetch(`http://${address}/metrics`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).toBe('# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 1\n');
  });

  it('speaks OpenMetrics to those who ask for it', async () => {
    const { address } = await start(registryWithCalls());
    const headers = { accept: 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3' };
    const response = await fetch(`http://${address}/metrics`, { headers });
    expect(response.headers.get('content-type')).toContain('application/openmetrics-text');
    expect(await response.text()).toMatch(/# EOF\n$/);
  });

  it('refuses other paths and methods, and answers HEAD without a body', async () => {
    const { address } = await start(registryWithCalls());
    const status = async (path: string, method: string) => (await fetch(`http://${address}${path}`, { method })).status;
    expect(await status('/', 'GET')).toBe(404);
    expect(await status('/metrics', 'POST')).toBe(405);
    const head = await fetch(`http://${address}/metrics`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '67', '']);
  });

  it('serves the pages beside /metrics, each made when it is asked for, and names them for an unknown path', async () => {
    const registry = registryWithCalls();
    let made = 0;
    const leave = registry.addPage('/metrics/resource', async () => `page ${++made}\n`);
    registry.addPage('/metrics/broken', async () => {
      throw new Error('no such file');
    });
    // A port of its own: fetch would reuse connections of the tests before.
    const { address } = await start(registry, 17_454);
    const get = async (path: string) => {
      const response = await fetch(`http://${address}${path}`, { headers: { accept: 'application/openmetrics-text' } });
      return [response.status, response.headers.get('content-type'), await response.text()];
    };
    const type = 'text/plain; version=0.0.4; charset=utf-8';
    expect(await get('/metrics/resource?x=1')).toEqual([200, type, 'page 1\n']);
    expect(await get('/metrics/resource')).toEqual([200, type, 'page 2\n']);
    expect(await get('/metrics/broken')).toEqual([500, 'text/plain; charset=utf-8', 'cannot read the metrics: no such file\n']);
    expect((await get('/none'))[2]).toBe('there is only /metrics, /metrics/resource, /metrics/broken here\n');
    leave();
    expect((await get('/metrics/resource'))[0]).toBe(404);
  });

  it('answers what is no HTTP with 400 and goes on', async () => {
    const { address } = await start();
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(address.split(':')[1]), '127.0.0.1', () =>
        socket.write('\x16\x03\x01 no HTTP at all\r\n\r\n'),
      );
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect((await fetch(`http://${address}/metrics`)).status).toBe(200);
  });

  it('says so when a metric cannot be read', async () => {
    const registry = new MetricsRegistry();
    registry.read({ name: 'a', type: 'gauge', help: 'A.' }, () => {
      throw new Error('no such file');
    });
    const response = await fetch(`http://${(await start(registry)).address}/metrics`);
    expect([response.status, await response.text()]).toEqual([500, 'cannot read the metrics: no such file\n']);
  });

  it('refuses a port that is taken in plain words, unless it may take another', async () => {
    const { address } = await start();
    const registry = new MetricsRegistry();
    await expect(openMetricsEndpoint({ registry, address, mayMove: false })).rejects.toThrow(
      `cannot serve metrics on ${address}: the port is taken; choose another, or "off" (--metrics-address)`,
    );
    const other = await openMetricsEndpoint({ registry, address, mayMove: true });
    open.push(other);
    expect(other.address).not.toBe(address);
    expect((await fetch(`http://${other.address}/metrics`)).status).toBe(200);
  });

  it.each(['7444', 'here', '127.0.0.1:70000', ''])('refuses the address "%s"', async (address) => {
    await expect(openMetricsEndpoint({ registry: new MetricsRegistry(), address, mayMove: true })).rejects.toThrow(
      `--metrics-address "${address}" must be HOST:PORT`,
    );
  });
});
