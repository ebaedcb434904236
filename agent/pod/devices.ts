import { existsSync } from 'node:fs';
import type { Container, NodeStatus } from '../../api/generated/types.ts';
import { quantityValue } from '../../api/meta/quantity.ts';
import { ContainerConfigError } from '../config/config-error.ts';
import type { DeviceOffer, DeviceUnit, GivenDevices, HeldUnits } from '../config/device-units.ts';
import type { DeviceMapping, ObservedContainer } from '../runtime/runtime.ts';

/** A container's device requests, by resource. */
export function wantedDevices(container: Container, offer: DeviceOffer): ReadonlyMap<string, number> {
  const limits = container.resources?.limits ?? {};
  const wanted = Object.entries(limits).map(([name, amount]) => [name, quantityValue(amount)] as const);
  return new Map(wanted.filter(([name, amount]) => offer.has(name) && amount > 0));
}

/**
 * Chooses free units; `before` is what the container had the last time, which it gets again where it can. Throws
 * ContainerConfigError. Pure.
 */
export function chooseUnits(
  wanted: ReadonlyMap<string, number>,
  offer: DeviceOffer,
  taken: readonly HeldUnits[],
  before: HeldUnits,
): GivenDevices {
  const held: Record<string, string[]> = {};
  const devices: DeviceMapping[] = [];
  for (const [resource, amount] of wanted) {
    const used = new Set(taken.flatMap((each) => each[resource] ?? []));
    const mine = new Set(before[resource] ?? []);
    const free = (offer.get(resource) ?? []).filter(({ id }) => !used.has(id));
    const chosen = [...free.filter(({ id }) => mine.has(id)), ...free.filter(({ id }) => !mine.has(id))].slice(0, amount);
    if (chosen.length < amount)
      throw new ContainerConfigError(`${amount} of ${resource} asked for, ${free.length} free on this node`);
    held[resource] = chosen.map(({ id }) => id);
    devices.push(...chosen.flatMap((unit) => unit.devices));
  }
  return {
    held,
    devices: devices.filter((one, i) => devices.findIndex((other) => other.containerPath === one.containerPath) === i),
  };
}

/**
 * The current device allocations. Running containers carry them in a label; only those of starting ones are kept here.
 */
export interface DeviceBook {
  /** Called for each start of a container. Throws ContainerConfigError when too few are free. */
  give(podUid: string, container: Container): GivenDevices;
  /** The start has ended: the container is among those that there are, or did not come to be. */
  settled(podUid: string, containerName: string): void;
}

export function createDeviceBook(offer: DeviceOffer, containers: () => Iterable<ObservedContainer>): DeviceBook {
  const starting = new Map<string, HeldUnits>();
  return {
    give(podUid, container) {
      const wanted = wantedDevices(container, offer);
      if (wanted.size === 0) return { held: {}, devices: [] };
      const own = `${podUid}/${container.name ?? ''}`;
      const taken = [...starting].filter(([key]) => key !== own).map(([, held]) => held);
      let before: HeldUnits = {};
      let newest = -1;
      for (const each of containers()) {
        const isOwn = `${each.podUid}/${each.containerName}` === own;
        const ended = each.state === 'exited' || each.state === 'dead';
        if (each.heldUnits !== undefined && !ended && !isOwn) taken.push(each.heldUnits);
        if (isOwn && each.attempt > newest) [before, newest] = [each.heldUnits ?? {}, each.attempt];
      }
      const given = chooseUnits(wanted, offer, taken, before);
      starting.set(own, given.held);
      return given;
    },
    settled: (podUid, containerName) => void starting.delete(`${podUid}/${containerName}`),
  };
}

type Room = Required<Pick<NodeStatus, 'capacity' | 'allocatable'>>;

/**
 * A node with its devices among what it has, and among what it can give those of which every path is there. Looked at
 * when the agent starts.
 */
export function withDevices<T extends Room>(node: T, offer: DeviceOffer, isThere: (path: string) => boolean = existsSync): T {
  const usable = ({ devices }: DeviceUnit) => devices.every(({ hostPath }) => isThere(hostPath));
  const amounts = (count: (units: readonly DeviceUnit[]) => number) =>
    Object.fromEntries([...offer].map(([resource, units]) => [resource, { string: String(count(units)) }]));
  return {
    ...node,
    capacity: { ...node.capacity, ...amounts((units) => units.length) },
    allocatable: { ...node.allocatable, ...amounts((units) => units.filter(usable).length) },
  };
}
