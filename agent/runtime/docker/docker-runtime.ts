import type { CommandRunner, ContainerAccess, ContainerRuntime, ImageService } from '../runtime.ts';
import { createAccess } from './access.ts';
import { createCommands } from './commands.ts';
import { createContainers } from './containers.ts';
import { createEarlyOutputs, withEarlyOutputs } from './early-output.ts';
import { createEngine, type Engine, type EngineCall, socketPathOf } from './engine.ts';
import { watchEvents } from './events.ts';
import { createExecExits } from './exec-exits.ts';
import { createImageDigests } from './image-digests.ts';
import { createImages } from './images.ts';
import { createInventory } from './inventory.ts';
import { label } from './labels.ts';
import { createLeanEngine, isLean, type LeanEngine, type UnreadConnection } from './lean-engine.ts';
import { createLeftoverSweeper } from './leftovers.ts';
import { createOomKills, type OomKills } from './oom-kills.ts';
import { createOomPolicy } from './oom-policy.ts';
import { pidsLimitOf } from './pids-limit.ts';
import { type RoutedNetwork, withEngineNetwork, withRoutedNetwork } from './routed-runtime.ts';
import { RuntimeHandlers } from './runtime-handlers.ts';

export interface DockerRuntimeOptions {
  readonly nodeName: string;
  /** The engine's socket; by default what DOCKER_HOST says, else /var/run/docker.sock. */
  readonly socketPath?: string;
  readonly timeoutMs?: number;
  /** Receives warnings for the operator. */
  readonly warn?: (message: string) => void;
  /**
   * How many processes and threads each container may have, 0 for no limit.
   * Containers that are there keep what they were made with.
   */
  readonly maxContainerPids?: number | undefined;
  /** The network that the agent joins sandboxes to, besides the engine's; by default none. */
  readonly routed?: RoutedNetwork | undefined;
  /** Instead of a connection of its own. */
  readonly engine?: Engine;
  /** Instead of this machine's kernel log. */
  readonly oomKills?: OomKills;
}

export interface DockerRuntime {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly access: ContainerAccess;
  readonly commands: CommandRunner;
  /** Frees the kept connections. */
  close(): void;
}

/** The Docker Engine behind the agent's three ports. Connects at the first call, not before. */
export function createDockerRuntime(options: DockerRuntimeOptions): DockerRuntime {
  const { nodeName } = options;
  const warn = options.warn ?? (() => {});
  const { engine, probed } = openEngine(options);
  const oomKills = options.oomKills ?? createOomKills();
  const images: ImageService = createImages(engine, (image) => digests.learn(image));
  const digests = createImageDigests(images.find);
  const inventory = createInventory(engine, nodeName, { oomKills, imageDigest: digests.of });
  const oom = createOomPolicy(warn);
  const early = createEarlyOutputs(engine);
  const pidsLimit = pidsLimitOf(options.maxContainerPids);
  const made = withEarlyOutputs(createContainers({ engine, inventory, nodeName, findImage: images.find, oom, pidsLimit }), early);
  const handlers = new RuntimeHandlers(() => engine.call({ method: 'GET', path: '/info', action: 'get engine info' }));
  const containers = options.routed === undefined ? withEngineNetwork(made) : withRoutedNetwork(made, options.routed, handlers);
  const onChange = (id: string | undefined, atMs: number | undefined) => {
    if (id === undefined) inventory.forgetAll();
    else inventory.forget(id, atMs);
  };
  const exits = createExecExits();
  const leftovers = createLeftoverSweeper({ engine, warn });
  const onOomKill = (id: string) => {
    oomKills.note(id);
    inventory.forget(id);
  };
  return {
    runtime: {
      ...containers,
      events(signal) {
        const onConnect = () => {
          handlers.forget();
          void leftovers.sweep(signal);
        };
        const list = () => containers.list();
        const watch = { engine, nodeName, list, onConnect, onChange, onOomKill, onExecExit: exits.note, warn };
        return watchEvents(watch, signal);
      },
    },
    images,
    access: createAccess(engine, inventory, (labels) => labels[label.node] === nodeName, early),
    commands: createCommands({ engine: probed, exits }),
    close() {
      early.close();
      probed.close();
      engine.close();
      oomKills.close();
    },
  };
}

// The engine works on few things at once; more calls only queue up inside of it.
const callsAtOnce = 16;

async function takenOver(engine: Engine, call: EngineCall): Promise<UnreadConnection> {
  const connection = await engine.hijack(call);
  return { read: async () => connection, destroy: () => void connection.destroy() };
}

/**
 * An engine that is not behind a Unix socket is spoken to in the general way.
 * Calls of probes do not queue behind others.
 */
function openEngine(options: DockerRuntimeOptions): { readonly engine: Engine; readonly probed: LeanEngine } {
  const general = options.engine ?? createEngine({ socketPath: options.socketPath, timeoutMs: options.timeoutMs });
  const socketPath = options.engine === undefined ? socketPathOf(options.socketPath) : undefined;
  if (socketPath === undefined)
    return { engine: general, probed: { ...general, hijackUnread: (call) => takenOver(general, call) } };
  const leanOptions = { socketPath, apiVersion: () => general.apiVersion(), timeoutMs: options.timeoutMs };
  const lean = createLeanEngine({ ...leanOptions, atOnce: callsAtOnce });
  const engine: Engine = {
    ...general,
    call: (call) => (isLean(call) ? lean : general).call(call),
    close() {
      lean.close();
      general.close();
    },
  };
  return { engine, probed: createLeanEngine(leanOptions) };
}
