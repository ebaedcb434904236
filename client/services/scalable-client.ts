import type { Scale } from '../../api/generated/types.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { Connection, Method } from '../connection/connection.ts';
import { createKindClient, getRequest, patchRequest } from './kind-client.ts';
import type { ScalableClient } from './resource-client.ts';

const response = 'berth.autoscaling.v1.Scale';

/** The client of a kind that can be scaled: the standard methods and those of the Scale. */
export function createScalableClient<T extends ApiObject>(connection: Connection, kind: Kind<T>): ScalableClient<T> {
  const method = (name: string, request: string): Method => ({ path: `/${kind.service}/${name}`, request, response });
  const methods = {
    get: method('GetScale', 'berth.meta.v1.GetRequest'),
    update: method('UpdateScale', 'berth.autoscaling.v1.ScaleWriteRequest'),
    patch: method('PatchScale', 'berth.meta.v1.PatchRequest'),
  };
  return {
    ...createKindClient(connection, kind),
    scale: (key, call) => connection.unary<Scale>(methods.get, getRequest(key), call),
    updateScale: (object, options = {}, call) => connection.unary<Scale>(methods.update, { object, options }, call),
    patchScale: (target, patch, options = {}, call) =>
      connection.unary<Scale>(methods.patch, patchRequest(target, patch, options), call),
  };
}
