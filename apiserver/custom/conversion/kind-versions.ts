import type { CustomResourceDefinition } from '../../../api/generated/types.ts';
import { storageVersionOf } from '../../../api/kinds/custom-resource-definition/meaning.ts';
import type { Kind } from '../../../api/kinds/kind.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { StoredVersions } from '../../registry/stored-versions.ts';
import { type ConversionDeps, ConversionWebhook } from './conversion-webhook.ts';
import { VersionedObjects } from './versioned-objects.ts';

/** The versions of one definition as it changes: what was converted, and the connections, outlive what is the same. */
export class KindVersions {
  readonly #deps: ConversionDeps;
  #webhook: ConversionWebhook | undefined;
  #known: { readonly spec: object; readonly unmarked: string; readonly objects: VersionedObjects } | undefined;

  constructor(deps: ConversionDeps) {
    this.#deps = deps;
  }

  /**
   * How the objects are stored; undefined where all are in one version. Objects that say no version are from before the
   * definition had several: they are in the version that objects were stored in first.
   */
  of(
    { spec = {}, status = {} }: CustomResourceDefinition,
    kindOf: (apiVersion: string) => Kind | undefined,
  ): StoredVersions | undefined {
    this.#setWebhook(spec);
    const storage = storageVersionOf(spec)?.name ?? '';
    const unmarked = status.storedVersions?.[0] ?? storage;
    if (!this.#webhook && (spec.versions ?? []).length < 2) {
      this.#known = undefined;
      return undefined;
    }
    if (this.#known && this.#known.unmarked === unmarked && equalValues(this.#known.spec, spec)) return this.#known.objects;
    const objects = new VersionedObjects({
      group: spec.group ?? '',
      storage,
      unmarked,
      converter: this.#webhook,
      kindOf,
    });
    this.#known = { spec, unmarked, objects };
    return objects;
  }

  /** Closes the connections once no call is under way. */
  close(): void {
    this.#webhook?.close();
    this.#webhook = undefined;
    this.#known = undefined;
  }

  #setWebhook({ conversion }: NonNullable<CustomResourceDefinition['spec']>): void {
    const webhook = conversion?.strategy === 'Webhook' ? (conversion.webhook ?? {}) : undefined;
    if (webhook && this.#webhook && equalValues(webhook, this.#webhook.webhook)) return;
    this.#webhook?.close();
    this.#webhook = webhook && new ConversionWebhook(webhook, this.#deps);
  }
}
