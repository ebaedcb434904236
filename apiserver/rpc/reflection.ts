import type {
  handleBidiStreamingCall,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import type { AnyCall } from './caller.ts';
import { descriptorRoot } from './definitions.ts';

type Handler = handleBidiStreamingCall<unknown, unknown>;

/**
 * Serves reflection (v1 and v1alpha) for the services of the API under the API's own rule: `admit` throws for a caller without
 * credentials. The file descriptors are built when somebody first asks, because that takes longer than the rest of the start.
 */
export function addReflection(
  server: Server,
  services: readonly string[],
  admit: (call: AnyCall) => void,
  refuse: (error: unknown, call: AnyCall) => object,
): void {
  let built: Map<string, Handler> | undefined;
  const handlers = (): Map<string, Handler> => {
    built ??= collect(
      new ReflectionService(fromJSON(descriptorRoot().toJSON(), { keepCase: true }), { services: [...services] }),
    ).handlers;
    return built;
  };
  const { definitions } = collect(new ReflectionService({}));
  for (const [path, definition] of definitions) {
    server.addService(definition, {
      ServerReflectionInfo: (call: ServerDuplexStream<unknown, unknown>) => {
        try {
          admit(call as unknown as AnyCall);
          handlers().get(path)!(call);
        } catch (error) {
          call.emit('error', refuse(error, call as unknown as AnyCall));
        }
      },
    });
  }
}

/** What the library would add to a server. */
function collect(reflection: ReflectionService): { definitions: Map<string, ServiceDefinition>; handlers: Map<string, Handler> } {
  const definitions = new Map<string, ServiceDefinition>();
  const handlers = new Map<string, Handler>();
  const addService = (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
    const path = definition.ServerReflectionInfo!.path;
    definitions.set(path, definition);
    handlers.set(path, implementation.ServerReflectionInfo as Handler);
  };
  reflection.addToServer({ addService } as unknown as Parameters<ReflectionService['addToServer']>[0]);
  return { definitions, handlers };
}
