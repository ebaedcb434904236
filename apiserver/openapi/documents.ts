import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { packages } from '../../api/generated/descriptors.ts';
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { type ServedGroups, servedGroups, servedKinds } from '../http/discovery/discovery.ts';
import type { Registry } from '../registry/registry.ts';
import { serverVersion } from '../server-version.ts';
import { ContentsMaker, type DocumentParts, type GroupContents, Slices } from './contents.ts';
import type { OpenApiVersion, Schema } from './definitions.ts';
import { type ForeignDocument, foreignDefinitions, parsedDocument } from './foreign-definitions.ts';
import { foreignPaths } from './foreign-paths.ts';
import { encodeDocument, namedPath, namedSchema } from './gnostic.ts';
import { encodeDocumentV3, namedPathV3, namedSchemaV3 } from './gnostic-v3.ts';
import { writePath } from './write-operations.ts';

/** A document is dropped when it has not been read for so long. */
const KEEP_MS = 3 * 60_000;
/** The most documents that are kept, and the most bytes, compressed. */
const MOST_DOCUMENTS = 64;
const MOST_BYTES = 16 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

let program: string | undefined;

interface Kept {
  readonly bytes: Promise<Buffer>;
  /** 0 until it is made. */
  size: number;
  usedAt: number;
}

export type DocumentForm = 'json' | 'protobuf';

/**
 * The OpenAPI documents of what is served now, made when they are read, in slices, and kept compressed for a while. A
 * document is named by a hash of what it is made from, so that whether it changed is known without making it.
 */
export class OpenApiDocuments {
  readonly #registry: Registry;
  readonly #kept = new Map<string, Kept>();
  #timer: NodeJS.Timeout | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The groups in their versions ("api/v1", "apis/apps/v1"), each with its hash. */
  async hashes(): Promise<ReadonlyMap<string, string>> {
    const slices = new Slices();
    const found = new Map<string, string>();
    for (const contents of this.#contents()) {
      found.set(pathOf(contents), this.#hashOf(contents));
      await slices.next();
    }
    return found;
  }

  /** The hash of the document of everything. */
  async hash(): Promise<string> {
    const all = createHash('sha256');
    for (const hash of (await this.hashes()).values()) all.update(hash);
    return all.digest('hex');
  }

  /** The document of a group in a version, compressed; undefined for one that there is not. */
  v3(form: DocumentForm, path: string, hash: string): Promise<Buffer> | undefined {
    const contents = this.#contents().find((each) => pathOf(each) === path);
    const make = (all: GroupContents[]) => (form === 'json' ? this.#json(3, all) : this.#protobufV3(all));
    return contents && this.#keep(`3 ${form} ${path} ${hash}`, () => make([contents]));
  }

  /** The document of everything, compressed; with the kinds of extension servers. */
  v2(form: DocumentForm, hash: string, foreign: readonly ForeignDocument[] = []): Promise<Buffer> {
    const contents = this.#contents();
    const make = form === 'json' ? () => this.#json(2, contents, foreign) : () => this.#protobuf(contents, foreign);
    return this.#keep(`2 ${form} ${hash}`, make);
  }

  #contents(): GroupContents[] {
    const { stores } = this.#registry;
    const kinds = [...servedKinds(stores)];
    return [...contentsOf(servedGroups(stores), kinds)];
  }

  #hashOf({ resources, kinds, group, version }: GroupContents): string {
    program ??= programHash(import.meta.url);
    const hash = createHash('sha256').update(`${program} ${group}/${version} ${JSON.stringify(resources)}`);
    for (const kind of kinds) if (isCustom(kind)) hash.update(this.#rawSchema(kind) ?? '');
    return hash.digest('hex').toUpperCase();
  }

  #rawSchema(kind: Kind): Buffer | undefined {
    const definitions = this.#registry.store('CustomResourceDefinition');
    const entry = definitions.cache.get(definitions.key({ namespace: '', name: resourceOf(kind) }));
    if (!entry) return undefined;
    const { spec } = definitions.cache.decoder.decode(entry) as CustomResourceDefinition;
    const version = spec?.versions?.find(({ name }) => kind.apiVersion.endsWith(`/${name}`));
    return version?.schema?.openAPIV3Schema?.raw as Buffer | undefined;
  }

  readonly #schemaOf = (kind: Kind): JsonObject | undefined => {
    const raw = this.#rawSchema(kind);
    const schema: unknown = raw && JSON.parse(raw.toString());
    return isJsonObject(schema) ? schema : undefined;
  };

  async #json(version: OpenApiVersion, all: readonly GroupContents[], foreign: readonly ForeignDocument[] = []): Promise<Buffer> {
    const paths: string[] = [];
    const schemas: string[] = [];
    await this.#make(version, all, foreign, {
      path: (path, operations) => paths.push(`${JSON.stringify(path)}:${JSON.stringify(writePath(operations, version))}`),
      definition: (name, schema) => schemas.push(`${JSON.stringify(name)}:${JSON.stringify(schema)}`),
    });
    const head = `"info":${JSON.stringify(info())},"paths":{${paths.join(',')}}`;
    const definitions = `{${schemas.join(',')}}`;
    if (version === 2) return Buffer.from(`{"swagger":"2.0",${head},"definitions":${definitions}}`);
    return Buffer.from(`{"openapi":"3.0.0",${head},"components":{"schemas":${definitions}}}`);
  }

  async #protobuf(all: readonly GroupContents[], foreign: readonly ForeignDocument[]): Promise<Buffer> {
    const paths: Buffer[] = [];
    const schemas: Buffer[] = [];
    await this.#make(2, all, foreign, {
      path: (path, operations) => paths.push(namedPath(path, operations)),
      definition: (name, schema) => schemas.push(namedSchema(name, schema)),
    });
    return encodeDocument(info(), paths, schemas);
  }

  async #protobufV3(all: readonly GroupContents[]): Promise<Buffer> {
    const paths: Buffer[] = [];
    const schemas: Buffer[] = [];
    await this.#make(3, all, [], {
      path: (path, operations) => paths.push(namedPathV3(path, writePath(operations, 3))),
      definition: (name, schema) => schemas.push(namedSchemaV3(name, schema)),
    });
    return encodeDocumentV3(info(), paths, schemas);
  }

  async #make(
    version: OpenApiVersion,
    all: readonly GroupContents[],
    foreign: readonly ForeignDocument[],
    { path, definition }: DocumentParts,
  ): Promise<void> {
    const { comments } = await import('../../api/generated/comments.ts');
    const names = new Set<string>();
    const define = (name: string, schema: Schema): void => {
      names.add(name);
      definition(name, schema);
    };
    const maker = new ContentsMaker(version, comments, this.#schemaOf, { path, definition: define });
    for (const contents of all) await maker.add(contents);
    for (const document of foreign) {
      const parsed = parsedDocument(document);
      for (const [name, schema] of foreignDefinitions(parsed, (each) => names.has(each))) define(name, schema);
      for (const [at, operations] of foreignPaths(parsed, (each) => names.has(each))) path(at, operations);
      await setImmediate();
    }
  }

  #keep(key: string, make: () => Promise<Buffer>): Promise<Buffer> {
    const known = this.#kept.get(key);
    if (known) {
      known.usedAt = Date.now();
      return known.bytes;
    }
    const bytes = make().then((document) => compress(document));
    const kept: Kept = { bytes, size: 0, usedAt: Date.now() };
    this.#kept.set(key, kept);
    bytes.then(
      ({ length }) => {
        kept.size = length;
        this.#bound(kept);
      },
      () => this.#kept.delete(key),
    );
    this.#timer ??= setInterval(() => this.#drop(), KEEP_MS).unref();
    return bytes;
  }

  /** Drops those that were read longest ago until the others are few enough. */
  #bound(newest: Kept): void {
    const byUse = [...this.#kept].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    let bytes = byUse.reduce((sum, [, { size }]) => sum + size, 0);
    for (const [key, kept] of byUse) {
      if (this.#kept.size <= MOST_DOCUMENTS && bytes <= MOST_BYTES) return;
      if (kept === newest) continue;
      this.#kept.delete(key);
      bytes -= kept.size;
    }
  }

  #drop(): void {
    for (const [key, { usedAt }] of this.#kept) if (Date.now() - usedAt >= KEEP_MS) this.#kept.delete(key);
    if (this.#kept.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

export const compressed = (bytes: Buffer): Promise<Buffer> => compress(bytes);
export const decompressed = (bytes: Buffer): Promise<Buffer> => decompress(bytes);

const info = () => ({ title: 'Kubernetes', version: `v${serverVersion()}` });

const pathOf = ({ group, version }: GroupContents): string => (group === '' ? `api/${version}` : `apis/${group}/${version}`);

function* contentsOf(served: ServedGroups, kinds: readonly Kind[]): Generator<GroupContents> {
  for (const [group, versions] of served)
    for (const [version, resources] of versions) {
      const apiVersion = group === '' ? version : `${group}/${version}`;
      yield { group, version, resources, kinds: kinds.filter((kind) => kind.apiVersion === apiVersion) };
    }
}

/**
 * Differs between programs that describe the same kinds otherwise. A built program's files have their contents, and the
 * names of the files that they import, in their names; `file` is this one.
 */
export function programHash(file: string): string {
  const hash = createHash('sha256').update(`${serverVersion()} ${basename(file)}`);
  for (const [name, { json }] of Object.entries(packages)) hash.update(name).update(json);
  return hash.digest('hex');
}
