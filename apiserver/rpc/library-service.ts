import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';

/** A service that a library implements. */
export interface LibraryService {
  /** e.g. "grpc.health.v1.Health". */
  readonly name: string;
  readonly methods: Readonly<Record<string, { readonly requestStream: boolean; readonly responseStream: boolean }>>;
  /** Loads the library and lets it add its services to the collector as it would to a server. */
  readonly load: (collector: Pick<Server, 'addService'>) => void;
  /** Runs before the library's handler; answers the call itself and gives false when the caller may not. */
  readonly admit?: (call: ServerDuplexStream<unknown, unknown>) => boolean;
}

interface LibraryMethod {
  readonly definition: ServiceDefinition[string];
  readonly handler: (...call: unknown[]) => void;
}

/**
 * Serves a library's service without the library until it is first called: most servers never are, and these libraries parse .proto
 * files and bring copies of what they need.
 */
export function addLibraryService(server: Server, { name, methods, load, admit }: LibraryService): void {
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
    implementation[method] = (...call) => {
      if (admit?.(call[0] as ServerDuplexStream<unknown, unknown>) ?? true) library(path).handler(...call);
    };
  }
  server.addService(definition, implementation as UntypedServiceImplementation);
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
