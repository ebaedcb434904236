import { decodeMessage, encodeMessage } from '../../api/codec/message.ts';
import { badRequest, internal } from '../../api/errors/index.ts';
import type { KindMap, KindName } from '../../api/kinds/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Connection } from '../connection/connection.ts';
import { type BulkRequest, type BulkStream, type BulkVerb, openBulk } from './bulk.ts';
import { deleteRequest, patchRequest } from './kind-client.ts';
import type { CallOptions, ResourceClient } from './resource-client.ts';

/** What writes answer: the whole object (default), or of it nothing but the metadata, which saves the way back. */
export interface BulkAnswers {
  readonly answers?: 'object' | 'metadata' | undefined;
}

export type BulkWriterOptions = CallOptions & BulkAnswers;

/** The writes of a kind. */
export type ResourceWrites<T extends ApiObject> = Pick<
  ResourceClient<T>,
  'create' | 'update' | 'updateStatus' | 'patch' | 'delete'
>;

/**
 * Writes as the clients of the kinds have them, with the same answers and errors, that share one stream: those of a
 * moment travel in one message. For programs that write much: a write costs both sides a fraction of a call. Writes of
 * one object are carried out in the order in which they were asked for. The stream is opened with the first write and
 * again after it broke; a server that does not know it gets single calls.
 */
export interface BulkWriter {
  /** `own` is for this kind alone. */
  resource<K extends KindName>(kind: K, own?: BulkAnswers): ResourceWrites<KindMap[K]>;
  resource<T extends ApiObject>(kind: Kind<T>, own?: BulkAnswers): ResourceWrites<T>;
  /** Takes no more; resolves when everything has its answer. */
  close(): Promise<void>;
}

export interface BulkWriterParts {
  readonly connection: Connection;
  /** Throws for a name that is none. */
  kindNamed(name: KindName): Kind;
  readonly onWarning: ((text: string) => void) | undefined;
}

export function createBulkWriter({ connection, kindNamed, onWarning }: BulkWriterParts, options: BulkWriterOptions): BulkWriter {
  const stream = openBulk(connection, options);

  function resource<K extends KindName>(kind: K, own?: BulkAnswers): ResourceWrites<KindMap[K]>;
  function resource<T extends ApiObject>(kind: Kind<T>, own?: BulkAnswers): ResourceWrites<T>;
  function resource(kind: KindName | Kind, { answers = options.answers }: BulkAnswers = {}): ResourceWrites<ApiObject> {
    const accept = answers === 'metadata' ? 'metadata' : 'protobuf';
    const known = typeof kind === 'string' ? kindNamed(kind) : kind;
    return resourceWrites({ stream, kind: known, accept, onWarning });
  }

  return { resource, close: () => stream.close() };
}

interface ResourceWritesParts {
  readonly stream: BulkStream;
  readonly kind: Kind;
  readonly accept: string;
  readonly onWarning: ((text: string) => void) | undefined;
}

function resourceWrites({ stream, kind, accept, onWarning }: ResourceWritesParts): ResourceWrites<ApiObject> {
  const about = { kind: { apiVersion: kind.apiVersion, kind: kind.kind }, accept };
  const send = async (verb: BulkVerb, request: BulkRequest, call: CallOptions | undefined): Promise<ApiObject> => {
    const { response, warnings = [] } = await stream.send(verb, request, call);
    if (onWarning) warnings.forEach(onWarning);
    return decode(kind, response?.object);
  };
  const write =
    (verb: 'create' | 'update' | 'updateStatus'): ResourceWrites<ApiObject>['create'] =>
    async (object, options = {}, call) =>
      send(verb, { ...about, format: 'protobuf', object: encode(kind, object), options }, call);
  return {
    create: write('create'),
    update: write('update'),
    updateStatus: write('updateStatus'),
    patch: (target, patch, options = {}, call) => send('patch', { ...about, patch: patchRequest(target, patch, options) }, call),
    delete: (key, options = {}, call) => send('delete', { ...about, delete: deleteRequest(key, options) }, call),
  };
}

function encode({ kind, message }: Kind, object: object): Buffer {
  try {
    return encodeMessage(message, object);
  } catch (cause) {
    throw badRequest(`write a ${kind}: the object is no ${message}: ${(cause as Error).message}`);
  }
}

function decode({ kind, message }: Kind, bytes: Uint8Array = Buffer.alloc(0)): ApiObject {
  try {
    return decodeMessage<ApiObject>(message, bytes);
  } catch (cause) {
    throw internal(`write a ${kind}: the answer is no ${message}`, cause);
  }
}
