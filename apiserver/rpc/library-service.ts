import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { AnyCall } from './caller.ts';
import type { StatusReply } from './status.ts';

/** A service that a library implements. */
export interface LibraryService {
  /** e.g. "grpc.health.v1.Health". */
  readonly name: string;
  readonly methods: Readonly<Record<string, { readonly requestStream: boolean; readonly responseStream: boolean }>>;
  /** Loads the library and lets it add its services to the collector as it would to a server. */
  readonly load: (collector: Pick<Server, 'addService'>) => void;
  /** Runs before `load`, at the first call of a method that streams requests: the call waits, and reads none. */
  readonly prepare?: () => Promise<void>;
  /**
   * For each method, what runs before the library's handler: counts the call and gives undefined, or gives the status
   * of its refusal.
   */
  readonly guard: (isStream: boolean) => (call: AnyCall) => StatusReply | undefined;
}

interface LibraryMethod {
  readonly definition: ServiceDefinition[string];
  readonly handler: (...call: unknown[]) => void;
}

/**
 * Serves a library's service without the library until it is first called: most servers never are, and these libraries
 * parse .proto files and bring copies of what they need.
 */
export function addLibraryService(server: Server, { name, methods, load, prepare, guard }: LibraryService): void {
  let loaded: Map<string, LibraryMethod> | undefined;
  const library = (path: string): LibraryMethod => {
    loaded ??= collect(load);
    return loaded.get(path)!;
  };
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: Record<string, (...call: unknown[]) => void> = {};
  for (const [method, streams] of Object.entries(methods)) {
    const path = `/${name}/${method}`;
    definition[method] = {
      path,
      ...streams,
      requestSerialize: (message: object) => library(path).definition.requestSerialize(message),
      requestDeserialize: (bytes) => library(path).definition.requestDeserialize(bytes),
      responseSerialize: (message: object) => library(path).definition.responseSerialize(message),
      responseDeserialize: (bytes) => library(path).definition.responseDeserialize(bytes),
    };
    const admit = guard(streams.responseStream);
    implementation[method] = (call, callback) => {
      const refusal = admit(call as AnyCall);
      if (refusal && callback) (callback as (refusal: StatusReply) => void)(refusal);
      else if (refusal) (call as ServerDuplexStream<unknown, unknown>).emit('error', refusal);
      else if (streams.requestStream) {
        const stream = call as ServerDuplexStream<unknown, unknown>;
        const begin = (): void => {
          readInStep(stream);
          library(path).handler(stream);
        };
        if (loaded || !prepare) begin();
        else
          prepare()
            .then(begin)
            .catch((error: unknown) => stream.emit('error', error));
      } else library(path).handler(call, callback);
    };
  }
  server.addService(definition, implementation as UntypedServiceImplementation);
}

/**
 * These libraries answer each message as it comes and never look whether answers are read: nothing more is read from a
 * client while its answers wait.
 */
export function readInStep(call: ServerDuplexStream<unknown, unknown>): void {
  const { _readableState: reading, _writableState: writing } = call as unknown as Record<
    string,
    { highWaterMark?: number } | undefined
  >;
  if (reading?.highWaterMark !== undefined) reading.highWaterMark = 1;
  if (writing?.highWaterMark !== undefined) writing.highWaterMark = 1;
  const write = call.write.bind(call) as (message: unknown) => boolean;
  call.write = ((message: unknown) => {
    const isFree = write(message);
    if (!isFree) call.pause();
    return isFree;
  }) as typeof call.write;
  call.on('drain', () => call.resume());
}

/** What the library would add to a server, by path. */
function collect(load: LibraryService['load']): Map<string, LibraryMethod> {
  const found = new Map<string, LibraryMethod>();
  load({
    addService(service, handlers) {
      for (const [method, definition] of Object.entries(service)) {
        const handler = handlers[method] ?? handlers[definition.originalName ?? ''];
        found.set(definition.path, { definition, handler: handler as LibraryMethod['handler'] });
      }
    },
  });
  return found;
}
