import { decodeMessage, encodeMessage } from '../../../api/codec/message.ts';
import { openMessage, storedVersionOf, withStoredVersion } from '../../../api/codec/open-message.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { StoredVersions } from '../../registry/stored-versions.ts';
import type { Entry } from '../../watch/entry.ts';
import type { Desired } from './conversion-review.ts';
import type { Converter } from './conversion-webhook.ts';
import { ConvertedEntries } from './converted-entries.ts';

/** What the versions of a kind are. */
export interface VersionsPlan {
  readonly group: string;
  /** The name of the version that objects are stored in now. */
  readonly storage: string;
  /** The version of objects that say none: those from before the definition had several. */
  readonly unmarked: string;
  /** Absent: the versions differ in their apiVersion alone. */
  readonly converter?: Converter | undefined;
  /** The kind in a version as it is served or stored; undefined for one that the definition has no more. */
  kindOf(apiVersion: string): Kind | undefined;
}

/** The objects of a definition with several versions, or with a webhook. */
export class VersionedObjects implements StoredVersions {
  readonly #plan: VersionsPlan;
  readonly #converted: ConvertedEntries;

  constructor(plan: VersionsPlan) {
    this.#plan = plan;
    this.#converted = new ConvertedEntries((entries, kind) => this.#convertEntries(entries, kind));
  }

  get storage(): string {
    return this.#plan.storage;
  }

  get mayWait(): boolean {
    return this.#plan.converter !== undefined;
  }

  get untouched(): StoredVersions {
    return untouched;
  }

  isStale(bytes: Uint8Array): boolean {
    return this.#nameOf(bytes) !== this.#plan.storage;
  }

  known(entry: Entry, kind: Kind): Entry | undefined {
    return this.#fits(entry.bytes, kind) ? entry : this.#converted.known(entry, kind);
  }

  async shown(entries: readonly Entry[], kind: Kind): Promise<readonly Entry[]> {
    const others = entries.filter(({ bytes }) => !this.#fits(bytes, kind));
    if (others.length === 0) return entries;
    const converted = await this.#converted.of(others, kind);
    let next = 0;
    return entries.map((entry) => (entry === others[next] ? converted[next++]! : entry));
  }

  stored(bytes: Buffer, kind: Kind): Buffer | Promise<Buffer> {
    const { group, storage, converter } = this.#plan;
    const apiVersion = `${group}/${storage}`;
    if (!converter || kind.apiVersion === apiVersion) return withStoredVersion(bytes, storage);
    const object = decodeMessage<ApiObject>(openMessage, bytes);
    return converter
      .convert([{ apiVersion: kind.apiVersion, kind: kind.kind, object }], this.#desired(apiVersion))
      .then(([converted]) => withStoredVersion(this.#encoded(converted!, apiVersion), storage));
  }

  async converted(
    objects: readonly ApiObject[],
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<readonly ApiObject[]> {
    const { converter, kindOf } = this.#plan;
    const kind = kindOf(from)?.kind;
    if (!converter || kind === undefined || objects.length === 0) return objects;
    const converted = await converter.convert(
      objects.map((object) => ({ apiVersion: from, kind, object })),
      this.#desired(to),
    );
    for (const object of converted) kindOf(to)?.prune?.(object);
    return converted;
  }

  #nameOf(bytes: Uint8Array): string {
    return storedVersionOf(bytes) || this.#plan.unmarked;
  }

  #apiVersionOf(bytes: Uint8Array): string {
    return `${this.#plan.group}/${this.#nameOf(bytes)}`;
  }

  #fits(bytes: Uint8Array, { apiVersion }: Kind): boolean {
    return !this.mayWait || this.#apiVersionOf(bytes) === apiVersion;
  }

  #desired(apiVersion: string): Desired {
    return this.#plan.kindOf(apiVersion) ?? { apiVersion };
  }

  async #convertEntries(entries: readonly Entry[], { apiVersion, kind }: Kind): Promise<readonly Buffer[]> {
    const objects = entries.map(({ bytes }) => ({
      apiVersion: this.#apiVersionOf(bytes),
      kind,
      object: decodeMessage<ApiObject>(openMessage, bytes),
    }));
    const converted = await this.#plan.converter!.convert(objects, this.#desired(apiVersion));
    return converted.map((object) => this.#encoded(object, apiVersion, true));
  }

  /** As Kubernetes: what the webhook gives is cut to the schema of its version, and completed for readers. */
  #encoded(object: ApiObject, apiVersion: string, completed = false): Buffer {
    const kind = this.#plan.kindOf(apiVersion);
    kind?.prune?.(object);
    if (completed) kind?.defaults(object);
    return encodeMessage(openMessage, object);
  }
}

const untouched: StoredVersions = {
  mayWait: false,
  isStale: () => false,
  known: (entry) => entry,
  shown: async (entries) => entries,
  converted: async (objects) => objects,
  stored(bytes, _kind, replaces) {
    const version = replaces ? storedVersionOf(replaces) : '';
    return version === '' ? bytes : withStoredVersion(bytes, version);
  },
  get untouched() {
    return untouched;
  },
};
