import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../client/clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import type { PortMapping } from '../runtime/runtime.ts';
import type { TableService } from '../service-table/service.ts';
import { HostPorts, PortTakenError } from './host-ports.ts';
import { holdPort } from './port-hold.ts';
import { canPublish, portKey, tableServiceOf } from './table-service.ts';

const mappingOf = (hostPort: number, parts: Partial<PortMapping> = {}): PortMapping => ({
  ...{ containerPort: 80, hostPort, hostIP: '', protocol: 'tcp' },
  ...parts,
});

/** A machine whose ports are held in memory. */
class Machine {
  readonly held = new Set<string>();
  readonly table = new Map<string, TableService>();
  readonly logger = createFakeLogger();
  readonly ports = new HostPorts({
    nodeName: 'n1',
    clock: systemClock,
    logger: this.logger,
    hold: async (mapping) => {
      const key = portKey(mapping);
      if (this.held.has(key)) throw Object.assign(new Error('address already in use'), { code: 'EADDRINUSE' });
      this.held.add(key);
      return { release: () => void this.held.delete(key) };
    },
  });

  useTable(): void {
    this.ports.useTable({
      set: (key, service) => void (service ? this.table.set(key, service) : this.table.delete(key)),
      settled: async () => {},
    });
  }

  led(): (string | undefined)[] {
    return [...this.table.values()].map(({ ports: [port] }) => `${port?.port} to ${port?.endpoints[0]?.address}`);
  }
}

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});

describe('the ports of a sandbox', () => {
  it('are held from the moment they are taken, and lead to it once it has an address', async () => {
    machine.useTable();
    await machine.ports.take('a/0', [mappingOf(8080), mappingOf(53, { protocol: 'udp' })]);
    expect([[...machine.held], machine.led()]).toEqual([['tcp *:8080', 'udp *:53'], []]);
    await machine.ports.publish('a/0', '10.42.0.5');
    expect(machine.led()).toEqual(['8080 to 10.42.0.5', '53 to 10.42.0.5']);
    machine.ports.withdraw('a/0');
    expect([[...machine.held], machine.led()]).toEqual([[], []]);
  });

  it('lead to it when the table comes later', async () => {
    await machine.ports.take('a/0', [mappingOf(8080)]);
    await machine.ports.publish('a/0', '10.42.0.5');
    machine.useTable();
    expect(machine.led()).toEqual(['8080 to 10.42.0.5']);
  });

  it('are none where one of them is taken by another program or pod', async () => {
    machine.held.add('tcp *:8081');
    const wanted = [mappingOf(8080), mappingOf(8081)];
    await expect(machine.ports.take('a/0', wanted)).rejects.toMatchObject({ mapping: wanted[1], code: 'EADDRINUSE' });
    expect([...machine.held]).toEqual(['tcp *:8081']);
    await machine.ports.take('a/0', [mappingOf(8080)]);
    await expect(machine.ports.take('b/0', [mappingOf(8080)])).rejects.toThrow(PortTakenError);
    machine.ports.withdraw('b/0');
    expect([...machine.held]).toContain('tcp *:8080');
  });

  it('pass over to the next sandbox of the pod, without being let go', async () => {
    machine.useTable();
    await machine.ports.take('a/0', [mappingOf(8080)]);
    await machine.ports.publish('a/0', '10.42.0.5');
    await machine.ports.take('a/1', [mappingOf(8080)]);
    expect([[...machine.held], machine.led()]).toEqual([['tcp *:8080'], []]);
    machine.ports.withdraw('a/0');
    await machine.ports.publish('a/1', '10.42.0.6');
    expect([[...machine.held], machine.led()]).toEqual([['tcp *:8080'], ['8080 to 10.42.0.6']]);
    await expect(machine.ports.take('b/0', [mappingOf(8080)])).rejects.toThrow(PortTakenError);
  });

  it('are taken once, also when the sandbox is seen again', async () => {
    machine.useTable();
    await machine.ports.take('a/0', [mappingOf(8080)]);
    await machine.ports.publish('a/0', '10.42.0.5');
    await machine.ports.restore('a/0', '10.42.0.5', [mappingOf(8080)]);
    expect([[...machine.held], machine.led()]).toEqual([['tcp *:8080'], ['8080 to 10.42.0.5']]);
  });

  it('are restored without those that another program has now', async () => {
    machine.useTable();
    machine.held.add('tcp *:8080');
    for (let list = 0; list < 2; list++) await machine.ports.restore('a/0', '10.42.0.5', [mappingOf(8080), mappingOf(8081)]);
    expect(machine.led()).toEqual(['8081 to 10.42.0.5']);
    expect(machine.logger.lines.map(({ level }) => level)).toEqual(['warn']);
    machine.held.delete('tcp *:8080');
    await machine.ports.restore('a/0', '10.42.0.5', [mappingOf(8080), mappingOf(8081)]);
    expect(machine.led()).toEqual(['8081 to 10.42.0.5', '8080 to 10.42.0.5']);
  });

  it('that are let go while they are taken are not held', async () => {
    const taking = machine.ports.take('a/0', [mappingOf(8080)]);
    machine.ports.withdraw('a/0');
    await taking;
    expect([...machine.held]).toEqual([]);
  });
});

describe('a port in the table', () => {
  it('for all addresses is a node port, and has the loopback address', () => {
    expect(tableServiceOf(mappingOf(8080), '10.42.0.5', 'n1')).toMatchObject({
      externalAddresses: ['127.0.0.1'],
      ports: [{ protocol: 'TCP', port: 8080, nodePort: 8080, endpoints: [{ address: '10.42.0.5', port: 80, node: 'n1' }] }],
      externalPolicy: 'Local',
    });
  });

  it('for one address is at that address alone', () => {
    const service = tableServiceOf(mappingOf(53, { hostIP: '192.0.2.1', protocol: 'udp' }), '10.42.0.5', 'n1');
    expect(service.externalAddresses).toEqual(['192.0.2.1']);
    expect(service.ports.map(({ protocol, port, nodePort }) => [protocol, port, nodePort])).toEqual([['UDP', 53, undefined]]);
  });

  it.each([
    ['', true],
    ['0.0.0.0', true],
    ['127.0.0.1', true],
    ['192.0.2.1', true],
    ['::', false],
  ])('with hostIP "%s": can be published %s', (hostIP, can) => {
    expect(canPublish(mappingOf(80, { hostIP }))).toBe(can);
  });

  it('for SCTP is not published', () => expect(canPublish(mappingOf(80, { protocol: 'sctp' }))).toBe(false));
});

describe('a held port', () => {
  const servers: { close(): unknown }[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  const listen = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const server = createServer();
      server.on('error', reject);
      server.listen({ port, host: '0.0.0.0', exclusive: true }, () => {
        servers.push(server);
        resolve((server.address() as { port: number }).port);
      });
    });

  it('cannot be taken by another program until it is released', async () => {
    const port = await listen(0);
    await expect(holdPort(mappingOf(port))).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await servers.pop()!.close();
    const hold = await holdPort(mappingOf(port));
    await expect(listen(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    hold.release();
    await expect(listen(port)).resolves.toBe(port);
  });

  it.each(['tcp', 'udp'] as const)('at an address that the machine does not have is refused (%s)', async (protocol) => {
    await expect(holdPort(mappingOf(9, { hostIP: '192.0.2.1', protocol }))).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
  });
});
