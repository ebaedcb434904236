import { createLimit } from '../../limit.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';

/**
 * Takes a container that is about to end out of the engine's networks,
 * where its end would otherwise risk the engine. Never throws.
 */
export type ReleaseNetworks = (id: string) => Promise<void>;

/** What Docker 20.10 speaks; 23.0, the next, speaks 1.42. */
const deadlockingApi = '1.41';
/** A container that cannot be disconnected must not keep all others from ending. */
const timeoutMs = 5_000;

/**
 * Docker 20.10, up to 20.10.26, takes two locks in both orders when two containers leave a network at once
 * (moby/moby#42545, moby/libnetwork#2679), and can deadlock: until it is restarted it then answers nothing that touches
 * a network, `docker info` included. With such an engine containers leave their networks one after the other, before
 * they end; the rest of their shutdown runs in parallel.
 */
export function createReleaseNetworks(
  engine: Pick<Engine, 'call' | 'apiVersion'>,
  inventory: Pick<Inventory, 'networksOf'>,
): ReleaseNetworks {
  const oneByOne = createLimit(1);

  const disconnect = (id: string, network: string): Promise<unknown> =>
    engine.call({
      method: 'POST',
      path: `/networks/${encodeURIComponent(network)}/disconnect`,
      body: { Container: id, Force: true },
      action: `disconnect container ${id} from network ${network}`,
      timeoutMs,
      slow: true,
    });

  return async (id) => {
    const networks = inventory.networksOf(id);
    if (networks.length === 0) return;
    try {
      if ((await engine.apiVersion()) !== deadlockingApi) return;
      for (const network of networks) await oneByOne(() => disconnect(id, network));
    } catch {
      // It has ended meanwhile, or its end will say what is wrong with the engine.
    }
  };
}
