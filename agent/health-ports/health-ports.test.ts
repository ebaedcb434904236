import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { endpoint, port, tableService } from '../../test/builders/table-service.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { healthAnswer } from './health-answer.ts';
import { HealthPorts } from './health-ports.ts';

const local = (healthPort: number | undefined, ...endpoints: ReturnType<typeof endpoint>[]) =>
  tableService('10.43.0.1', [port(80, endpoints), port(81, endpoints)], { externalPolicy: 'Local', healthPort });

/** A port that is free, and a program that holds it until told to leave. */
async function holdPort(): Promise<{ readonly number: number; leave(): Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const leave = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { number: (server.address() as AddressInfo).port, leave };
}

function start() {
  const [clock, logger, ending, failures] = [createFakeClock(), createFakeLogger(), new AbortController(), [] as string[]];
  const onFailure = (key: string, words: string) => void failures.push(`${key}: ${words}`);
  const ports = new HealthPorts({ nodeName: 'node1', clock, logger, onFailure, host: '127.0.0.1' });
  const ended = ports.run(ending.signal);
  const end = () => {
    ending.abort();
    return ended;
  };
  onTestFinished(end);
  return { ports, clock, failures, end };
}

const ask = async (number: number): Promise<string> => {
  try {
    const answer = await fetch(`http://127.0.0.1:${number}/healthz`);
    return `${answer.status} ${answer.headers.get('x-load-balancing-endpoint-weight')} ${(await answer.text()).trim()}`;
  } catch {
    return 'refused';
  }
};
const said = (count: number) => `{"service":{"namespace":"a","name":"web"},"localEndpoints":${count},"serviceProxyHealthy":true}`;

it('counts the ready endpoints of its own node, each address once', () => {
  const away = endpoint('10.42.1.1', 80, { node: 'node2' });
  const late = endpoint('10.42.0.3', 80, { ready: false });
  const two = [endpoint('10.42.0.1'), endpoint('10.42.0.2')];
  expect(healthAnswer('a/web', local(1, ...two, away, late), 'node1')).toEqual({
    status: 200,
    endpoints: 2,
    body: `${said(2)}\n`,
  });
  expect(healthAnswer('a/web', local(1, away, late), 'node1')).toMatchObject({ status: 503, endpoints: 0 });
  expect(healthAnswer('a/web', { ...local(1, late), publishNotReadyAddresses: true }, 'node1').status).toBe(200);
});

it('serves the port while the service has it, and follows its endpoints', async () => {
  const { number, leave } = await holdPort();
  await leave();
  const { ports, end } = start();
  ports.set('a/web', local(number, endpoint('10.42.0.1')));
  await expect.poll(() => ask(number)).toBe(`200 1 ${said(1)}`);
  ports.set('a/web', local(number));
  expect(await ask(number)).toBe(`503 0 ${said(0)}`);
  ports.set('a/web', local(undefined));
  expect(await ask(number)).toBe('refused');
  ports.set('a/web', local(number));
  await expect.poll(() => ask(number)).toContain('503');
  await end();
  expect(await ask(number)).toBe('refused');
});

it('says once when another program has the port, and serves it when that has gone', async () => {
  const { number, leave } = await holdPort();
  const { ports, clock, failures } = start();
  ports.set('a/web', local(number));
  for (let round = 0; round < 2; round++) {
    await expect.poll(() => clock.pending).toBe(1);
    await clock.advance(5_000);
  }
  await expect.poll(() => clock.pending).toBe(1);
  expect(failures).toEqual([
    `a/web: the health port ${number} is not served on node node1: another program on the node listens on it`,
  ]);
  await leave();
  await clock.advance(5_000);
  await expect.poll(() => ask(number)).toContain('503');
});

it('turns away more connections than a few', async () => {
  const { number, leave } = await holdPort();
  await leave();
  const { ports } = start();
  ports.set('a/web', local(number));
  await expect.poll(() => ask(number)).toContain('503');
  const sockets = Array.from({ length: 40 }, () => connect(number, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  await expect.poll(() => sockets.filter(({ destroyed, closed }) => destroyed || closed).length).toBe(8);
});
