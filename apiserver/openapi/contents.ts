import { setImmediate } from 'node:timers/promises';
import { messageType } from '../../api/codec/descriptors.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { Resource } from '../http/subresources.ts';
import { customDefinition } from './custom-definition.ts';
import { definitionName, kindDefinitionName } from './definition-names.ts';
import {
  DELETE_OPTIONS,
  type Definition,
  DefinitionMaker,
  type GroupVersionKind,
  type OpenApiVersion,
  PATCH,
  type Schema,
  STATUS,
} from './definitions.ts';
import { type Operation, operationsOf } from './operations.ts';
import type { Comments } from './repeated-comments.ts';

/** A group in a version: what is served there. */
export interface GroupContents {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly Resource[];
  readonly kinds: readonly Kind[];
}

/** What a document is made of; each part is handed on as soon as it is made. */
export interface DocumentParts {
  path(path: string, operations: readonly Operation[]): void;
  definition(name: string, schema: Schema): void;
}

/** How long the event loop is held at a time. */
const SLICE_MS = 8;

/** Lets others run when this one has run long enough. */
export class Slices {
  #began = performance.now();

  async next(): Promise<void> {
    if (performance.now() - this.#began < SLICE_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

/** Makes the paths and the definitions of groups, each definition once, in slices. */
export class ContentsMaker {
  readonly #version: OpenApiVersion;
  readonly #parts: DocumentParts;
  readonly #make: DefinitionMaker;
  readonly #schemaOf: (kind: Kind) => JsonObject | undefined;
  readonly #made = new Set<string>();
  readonly #slices = new Slices();

  constructor(
    version: OpenApiVersion,
    comments: Comments,
    schemaOf: (kind: Kind) => JsonObject | undefined,
    parts: DocumentParts,
  ) {
    this.#version = version;
    this.#parts = parts;
    this.#make = new DefinitionMaker(version, comments);
    this.#schemaOf = schemaOf;
  }

  async add({ group, version, resources, kinds }: GroupContents): Promise<void> {
    const names = new Map(kinds.map((kind) => [kind.kind, kindDefinitionName(kind)]));
    const plurals = new Set(kinds.filter(isCustom).map((kind) => kind.plural));
    for (const kind of kinds) await this.#kind(kind);
    for (const resource of resources) {
      const isOwn = (resource.group ?? group) === group && (resource.version ?? version) === version;
      const object = isOwn && names.has(resource.kind) ? names.get(resource.kind) : await this.#other(resource, group, version);
      const forms = {
        ...(object !== undefined && { object, list: `${object}List` }),
        status: await this.#message(STATUS),
        patch: await this.#message(PATCH),
        deleteOptions: await this.#message(DELETE_OPTIONS, { group: '', version: 'v1', kind: 'DeleteOptions' }),
        custom: plurals.has(resource.name.split('/')[0]!),
      };
      for (const [path, operations] of operationsOf({ group, version }, resource, forms)) this.#parts.path(path, operations);
      await this.#slices.next();
    }
  }

  async #kind(kind: Kind): Promise<void> {
    const name = kindDefinitionName(kind);
    const gvk = gvkOf(kind);
    const made = isCustom(kind)
      ? { schema: customDefinition(this.#schemaOf(kind), gvk, this.#version), uses: [OBJECT_META] }
      : this.#make.ofMessage(kind.message, gvk);
    await this.#put(name, () => made);
    await this.#put(`${name}List`, () => this.#make.ofList(name, gvk));
  }

  /** What is sent to and answered by a subresource or a resource without a store; undefined where it is no message. */
  async #other(resource: Resource, group: string, version: string): Promise<string | undefined> {
    const gvk = { group: resource.group ?? group, version: resource.version ?? version, kind: resource.kind };
    const message = `berth.${gvk.group.split('.')[0] || 'core'}.${gvk.version}.${gvk.kind}`;
    const isMessage = hasMessage(message) && !gvk.kind.endsWith('Options');
    return isMessage ? this.#message(message, gvk) : undefined;
  }

  async #message(message: string, gvk?: GroupVersionKind): Promise<string> {
    const name = definitionName(message);
    await this.#put(name, () => this.#make.ofMessage(message, gvk));
    return name;
  }

  async #put(name: string, make: () => Definition): Promise<void> {
    if (this.#made.has(name)) return;
    this.#made.add(name);
    const { schema, uses } = make();
    this.#parts.definition(name, schema);
    await this.#slices.next();
    for (const message of uses) await this.#message(message);
  }
}

const OBJECT_META = 'berth.meta.v1.ObjectMeta';

function gvkOf({ apiVersion, kind }: Kind): GroupVersionKind {
  return { group: groupOf(apiVersion), version: apiVersion.slice(apiVersion.indexOf('/') + 1), kind };
}

function hasMessage(name: string): boolean {
  try {
    return messageType(name) !== undefined;
  } catch {
    return false;
  }
}
