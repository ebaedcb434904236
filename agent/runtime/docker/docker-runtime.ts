import type { ContainerAccess, ContainerRuntime, ImageService } from '../runtime.ts';
import { createAccess } from './access.ts';
import { createContainers } from './containers.ts';
import { createEngine, type Engine } from './engine.ts';
import { watchEvents } from './events.ts';
import { createImages } from './images.ts';
import { createInventory } from './inventory.ts';
import { label } from './labels.ts';
import { createOomKills, type OomKills } from './oom-kills.ts';

export interface DockerRuntimeOptions {
  readonly nodeName: string;
  /** The engine's socket; by default what DOCKER_HOST says, else /var/run/docker.sock. */
  readonly socketPath?: string;
  readonly timeoutMs?: number;
  /** Told what an operator should know but nobody has to wait for. */
  readonly warn?: (message: string) => void;
  /** Instead of a connection of its own. */
  readonly engine?: Engine;
  /** Instead of this machine's kernel log. */
  readonly oomKills?: OomKills;
}

export interface DockerRuntime {
  readonly runtime: ContainerRuntime;
  readonly images: ImageService;
  readonly access: ContainerAccess;
  /** Frees the kept connections. */
  close(): void;
}

/** The Docker Engine behind the agent's three ports. Connects at the first call, not before. */
export function createDockerRuntime(options: DockerRuntimeOptions): DockerRuntime {
  const { nodeName } = options;
  const warn = options.warn ?? (() => {});
  const engine = options.engine ?? createEngine({ socketPath: options.socketPath, timeoutMs: options.timeoutMs });
  const oomKills = options.oomKills ?? createOomKills();
  const inventory = createInventory(engine, nodeName, oomKills);
  const images = createImages(engine);
  const containers = createContainers({ engine, inventory, nodeName, findImage: images.find, warn });
  const onChange = (id: string | undefined, atMs: number | undefined) => {
    if (id === undefined) inventory.forgetAll();
    else inventory.forget(id, atMs);
  };
  const onOomKill = (id: string) => {
    oomKills.note(id);
    inventory.forget(id);
  };
  return {
    runtime: {
      ...containers,
      events: (signal) => watchEvents({ engine, nodeName, list: () => inventory.list(), onChange, onOomKill, warn }, signal),
    },
    images,
    access: createAccess(engine, inventory, (labels) => labels[label.node] === nodeName),
    close() {
      engine.close();
      oomKills.close();
    },
  };
}
