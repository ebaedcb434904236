import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { parseHeldPorts, readHeldPorts } from './held-ports.ts';

const heading = '  sl  local_address rem_address   st tx_queue rx_queue';
const all = () => true;

it('finds sockets that listen, on all addresses or on one, and passes over connections', () => {
  const text = [
    heading,
    '   0: 00000000:7580 00000000:0000 0A 00000000:00000000',
    '   1: 0100007F:7581 00000000:0000 0A 00000000:00000000',
    '   2: 0100007F:7582 0100007F:1234 01 00000000:00000000',
    '   3: 00000000000000000000000000000000:7583 00000000000000000000000000000000:0000 0A 0:0',
    '   4: 0000000000000000FFFF0000020200C0:7584 00000000000000000000000000000000:0000 0A 0:0',
    '   5: 00000000000000000000000001000000:7585 00000000000000000000000000000000:0000 0A 0:0',
    '',
  ].join('\n');
  expect(parseHeldPorts(text, 'TCP', all)).toEqual([
    { protocol: 'TCP', port: 30_080 },
    { address: '127.0.0.1', protocol: 'TCP', port: 30_081 },
    { protocol: 'TCP', port: 30_083 },
    { address: '192.0.2.2', protocol: 'TCP', port: 30_084 },
  ]);
  expect(parseHeldPorts(text, 'TCP', (port) => port === 30_083)).toHaveLength(1);
});

it('takes UDP sockets that are not connected', () => {
  const text = `${heading}\n 0: 00000000:0035 00000000:0000 07 0:0\n 1: 0100007F:0036 0100007F:0035 01 0:0\n`;
  expect(parseHeldPorts(text, 'UDP', all)).toEqual([{ protocol: 'UDP', port: 53 }]);
});

it('reads them of this machine', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  expect(await readHeldPorts('self', new Set([`TCP:${port}`]))).toEqual([{ address: '127.0.0.1', protocol: 'TCP', port }]);
  server.close();
});
