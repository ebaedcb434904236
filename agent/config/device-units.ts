import type { DeviceMapping } from '../runtime/runtime.ts';

/** One unit of a device resource: a container that requests one gets all of its devices exclusively. */
export interface DeviceUnit {
  /** Stays the same as long as the configuration says the same of it. */
  readonly id: string;
  readonly devices: readonly DeviceMapping[];
}

/** The node's units, by resource. */
export type DeviceOffer = ReadonlyMap<string, readonly DeviceUnit[]>;

/** The units that a container holds, by resource: its label says so. */
export type HeldUnits = Readonly<Record<string, readonly string[]>>;

/** The units that were chosen for a container, and the devices that come with them. */
export interface GivenDevices {
  readonly held: HeldUnits;
  readonly devices: readonly DeviceMapping[];
}
