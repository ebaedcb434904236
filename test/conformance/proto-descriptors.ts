import protobuf from 'protobufjs';
import { allDescriptors } from '../../api/codec/descriptors.ts';

/** The embedded descriptors, resolved: what the proto tests look at. */
export const root = allDescriptors();

/** Berth's packages that are named like Kubernetes' groups. */
export const groups = [
  'meta.v1',
  'core.v1',
  'apps.v1',
  'autoscaling.v1',
  'coordination.v1',
  'node.v1',
  'policy.v1',
  'scheduling.v1',
  'storage.v1',
  'rbac.v1',
  'authentication.v1',
  'authorization.v1',
  'certificates.v1',
  'batch.v1',
  'autoscaling.v2',
  'discovery.v1',
  'events.v1',
  'networking.v1',
  'admissionregistration.v1',
];

/** Every message of Berth's packages that are named like Kubernetes' groups, e.g. "core.v1", by that name. */
export function messagesOf(group: string): protobuf.Type[] {
  const found = root.lookup(`berth.${group}`);
  if (!(found instanceof protobuf.Namespace)) throw new Error(`no package berth.${group}`);
  return found.nestedArray.filter((nested) => nested instanceof protobuf.Type);
}

/** Messages that carry requests and answers; Kubernetes says those in HTTP. */
export const isEnvelope = (message: protobuf.Type): boolean => /(WriteRequest|WatchResponse|WatchEvent)$/.test(message.name);

/** The fields of a message as they stand in its JSON object: inline messages give their own fields. */
export function jsonFields(message: protobuf.Type): protobuf.Field[] {
  return message.fieldsArray.flatMap((field) =>
    field.options?.['(berth.meta.v1.inline)'] === true && field.resolvedType instanceof protobuf.Type
      ? jsonFields(field.resolvedType)
      : [field],
  );
}

/** The full name of a field's message, or the scalar's name. */
export const typeName = (field: protobuf.Field): string => field.resolvedType?.fullName.replace(/^\./, '') ?? field.type;

/** Messages that Kubernetes' protobuf API does not have, by group and name, with the reason. */
export const ours: Record<string, string> = {
  'authentication.v1.ListTokenKeysRequest': 'Kubernetes says it with a URL',
  'authentication.v1.TokenKey': 'Kubernetes says it with a URL',
  'authentication.v1.TokenKeyList': 'Kubernetes says it with a URL',
  'core.v1.AttachedFromStart': 'attach is a gRPC stream',
  'core.v1.BindItem': 'bindings are a gRPC stream',
  'core.v1.BindResult': 'bindings are a gRPC stream',
  'core.v1.BindStreamRequest': 'bindings are a gRPC stream',
  'core.v1.BindStreamResponse': 'bindings are a gRPC stream',
  'core.v1.BoundPod': 'bindings are a gRPC stream',
  'core.v1.DataEnd': 'streams to pods are gRPC',
  'core.v1.ExecExit': 'exec is a gRPC stream, its end a frame',
  'core.v1.FileStat': 'copied files are a gRPC stream',
  'core.v1.FilesWritten': 'copied files are a gRPC stream',
  'core.v1.NodeUsage': "the machine's figures, Berth's own",
  'core.v1.PodAttachRequest': 'attach is a gRPC stream',
  'core.v1.PodAttachResponse': 'attach is a gRPC stream',
  'core.v1.PodAttachStart': 'attach is a gRPC stream',
  'core.v1.PodExecRequest': 'exec is a gRPC stream',
  'core.v1.PodExecResponse': 'exec is a gRPC stream',
  'core.v1.PodExecStart': 'exec is a gRPC stream',
  'core.v1.PodFilesOptions': 'copied files are a gRPC stream',
  'core.v1.PodLogsRequest': 'logs are a gRPC stream',
  'core.v1.PodLogsResponse': 'logs are a gRPC stream',
  'core.v1.PodPortForwardRequest': 'port-forward is a gRPC stream',
  'core.v1.PodPortForwardResponse': 'port-forward is a gRPC stream',
  'core.v1.PodPortForwardStart': 'port-forward is a gRPC stream',
  'core.v1.PodReadFilesRequest': 'copied files are a gRPC stream',
  'core.v1.PodReadFilesResponse': 'copied files are a gRPC stream',
  'core.v1.PodWriteFilesRequest': 'copied files are a gRPC stream',
  'core.v1.PodWriteFilesResponse': 'copied files are a gRPC stream',
  'core.v1.PodWriteFilesStart': 'copied files are a gRPC stream',
  'core.v1.StdinClose': 'exec is a gRPC stream',
  'core.v1.TerminalSize': 'exec is a gRPC stream',
  'meta.v1.BulkItem': 'many writes are a gRPC stream',
  'meta.v1.BulkRequest': 'many writes are a gRPC stream',
  'meta.v1.BulkResponse': 'many writes are a gRPC stream',
  'meta.v1.BulkResult': 'many writes are a gRPC stream',
  'meta.v1.DeleteCollectionRequest': 'a request of every service',
  'meta.v1.DeleteCollectionResponse': 'counts what was deleted',
  'meta.v1.DeleteRequest': 'a request of every service',
  'meta.v1.FieldChange': 'the history of objects',
  'meta.v1.FindVersionRequest': 'the history of objects',
  'meta.v1.FindVersionResponse': 'the history of objects',
  'meta.v1.GetRequest': 'a request of every service',
  'meta.v1.KindInfo': 'the generic service',
  'meta.v1.KindReference': 'the generic service',
  'meta.v1.KindsRequest': 'the generic service',
  'meta.v1.KindsResponse': 'the generic service',
  'meta.v1.ListRequest': 'a request of every service',
  'meta.v1.ObjectDeleteCollectionRequest': 'the generic service',
  'meta.v1.ObjectDeleteRequest': 'the generic service',
  'meta.v1.ObjectEvent': 'the generic service',
  'meta.v1.ObjectGetRequest': 'the generic service',
  'meta.v1.ObjectHistoryRequest': 'the history of objects',
  'meta.v1.ObjectHistoryResponse': 'the history of objects',
  'meta.v1.ObjectListRequest': 'the generic service',
  'meta.v1.ObjectListResponse': 'the generic service',
  'meta.v1.ObjectPatchRequest': 'the generic service',
  'meta.v1.ObjectResponse': 'the generic service',
  'meta.v1.PatchRequest': 'a request of every service',
  'meta.v1.Revision': 'the history of objects',
  'meta.v1.Table': 'what a person looks at, smaller than the one of Kubernetes, never in its protobuf',
  'meta.v1.TableColumn': 'a part of Table',
  'meta.v1.TableRow': 'a part of Table',
  'meta.v1.WatchRequest': 'a request of every service',
  'meta.v1.WriteOptions': 'create, update and patch options in one',
  'networking.v1.NodeNetwork': "a kind of Berth's own",
  'networking.v1.NodeNetworkList': "a kind of Berth's own",
  'networking.v1.PodAddress': "a part of a kind of Berth's own",
  'networking.v1.PodAddressPort': "a part of a kind of Berth's own",
  'networking.v1.PodAddressSlice': "a kind of Berth's own",
  'networking.v1.PodAddressSliceList': "a kind of Berth's own",
  'node.v1.ControlRequest': 'agents open streams to the server',
  'node.v1.GetMetricsPageRequest': "the streams between server and agents, Berth's own",
  'node.v1.GetNetCheckRequest': "agents check the network, Berth's own",
  'node.v1.GetNodeLogRequest': 'Kubernetes says it with a URL',
  'node.v1.Hello': 'agents open streams to the server',
  'node.v1.MetricsPage': "the streams between server and agents, Berth's own",
  'node.v1.NetCheck': "agents check the network, Berth's own",
  'node.v1.NetCheckItem': "agents check the network, Berth's own",
  'node.v1.NetCheckPeer': "agents check the network, Berth's own",
  'node.v1.NodeLog': "the streams between server and agents, Berth's own",
  'node.v1.Refuse': 'agents open streams to the server',
  'node.v1.ControlResponse': 'agents open streams to the server',
  'node.v1.Open': 'agents open streams to the server',
  'node.v1.ServeRequest': 'agents open streams to the server',
  'node.v1.StreamEnd': 'agents open streams to the server',
  'node.v1.ServeResponse': 'agents open streams to the server',
  'scheduling.v1.Explanation': 'why pods are where they are',
  'scheduling.v1.ListPlacementsRequest': 'why pods are where they are',
  'scheduling.v1.NodeJudgement': 'why pods are where they are',
  'scheduling.v1.Obstacle': 'why pods are where they are',
  'scheduling.v1.Placement': 'why pods are where they are',
  'scheduling.v1.PlacementAnswer': 'why pods are where they are',
  'scheduling.v1.PlacementAudience': 'why pods are where they are',
  'scheduling.v1.PlacementList': 'why pods are where they are',
  'scheduling.v1.PlacementQuestion': 'why pods are where they are',
  'scheduling.v1.PluginScore': 'why pods are where they are',
  'scheduling.v1.SimulateRequest': 'why pods are where they are',
  'scheduling.v1.SimulateResponse': 'why pods are where they are',
  'scheduling.v1.WhyRequest': 'why pods are where they are',
};
