import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { AgentPorts } from '../../agent/ports.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { pod } from '../builders/index.ts';
import { type Machine, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

/** One server for the tests of a file; for each of them a machine with an agent, under a node's name of its own. */
export interface AgentHouse {
  readonly server: RunningServer;
  readonly machine: Machine;
  readonly agent: RunningAgent;
  readonly node: string;
  /** Of the test: for names that no other test has. */
  readonly serial: number;
  /** Starts the agent again, after it was stopped. */
  startAgent(): void;
  create(builder: ReturnType<typeof pod>): Promise<Pod>;
}

/** Says to vitest when all of it comes and goes. */
export function houseAgent(prefix: string, ports: Partial<AgentPorts> = {}): AgentHouse {
  let server: RunningServer;
  let machine: Machine;
  let agent: RunningAgent;
  let serial = 0;
  const node = () => `${prefix}${serial}`;
  const start = () => {
    agent = startAgent(server, machine, node(), {}, ports);
  };
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    await server.stop();
    await server.remove();
  });
  beforeEach(async () => {
    serial++;
    machine = await startMachine();
    start();
    await until('node', () => server.client.nodes.get({ name: node() }).catch(() => undefined));
  });
  afterEach(async () => {
    await agent.stop();
    await machine.remove();
  });
  return {
    get server() {
      return server;
    },
    get machine() {
      return machine;
    },
    get agent() {
      return agent;
    },
    get node() {
      return node();
    },
    get serial() {
      return serial;
    },
    startAgent: start,
    create(builder) {
      const object = builder.build();
      delete object.metadata!.uid;
      delete object.metadata!.resourceVersion;
      delete object.status;
      return server.client.pods.create(object);
    },
  };
}
