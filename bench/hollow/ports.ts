import { randomUUID } from 'node:crypto';
import type { HeldImage } from '../../agent/pause/held-image.ts';
import type { AgentPorts } from '../../agent/ports.ts';
import type { ImageService } from '../../agent/runtime/runtime.ts';
import type { Quantity } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import { createHollowAccess, createHollowCommands, hollowDialer } from './access.ts';
import { type AddressPool, createAddressPool } from './addresses.ts';
import { createHollowImages } from './images.ts';
import { createHollowVolumes, hollowCapacity, hollowInventory } from './machine.ts';
import type { CompleteHollowOptions } from './options.ts';
import type { PodBook } from './pod-book.ts';
import { createHollowRuntime } from './runtime.ts';
import { createHollowUsage } from './usage.ts';

/** What the nodes of a process share. */
export interface HollowShared {
  readonly options: CompleteHollowOptions;
  readonly images: ImageService;
  readonly sandboxImage: HeldImage;
  readonly addresses: AddressPool;
  readonly capacity: Readonly<Record<string, Quantity>>;
  /** Nodes whose status names it have registered since this start. */
  readonly bootID: string;
  readonly clock: Clock;
}

export function createHollowShared(options: CompleteHollowOptions, clock: Clock): HollowShared {
  return {
    options,
    images: createHollowImages(),
    sandboxImage: { id: async () => 'hollow-sandbox', forget: () => {} },
    addresses: createAddressPool(options.namePrefix),
    capacity: hollowCapacity(options),
    bootID: randomUUID(),
    clock,
  };
}

export interface HollowMachine {
  readonly nodeName: string;
  readonly index: number;
  /** Of the agent's own folder. */
  readonly nodeDir: string;
  readonly book: PodBook;
}

/** A machine that is not there, for a real agent. */
export function hollowPorts(shared: HollowShared, { nodeName, index, nodeDir, book }: HollowMachine): AgentPorts {
  const { options, images, sandboxImage, addresses, capacity, bootID, clock } = shared;
  const hollow = createHollowRuntime({ book, addresses, clock });
  return {
    runtime: hollow.runtime,
    images,
    access: createHollowAccess(hollow),
    commands: createHollowCommands(hollow, clock),
    sandboxImage,
    dialer: hollowDialer,
    volumes: createHollowVolumes(`${nodeDir}/pods`),
    usage: createHollowUsage({ nodeName, book, percent: options.usagePercent, clock }),
    memoryUsage: () => undefined,
    inventory: hollowInventory({ nodeName, index, bootID, capacity }),
    close: () => {},
  };
}
