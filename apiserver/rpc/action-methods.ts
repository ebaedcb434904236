import { field } from '../../api/codec/wire-format.ts';
import { badRequest } from '../../api/errors/index.ts';
import { decodeStrictly } from '../registry/decode.ts';
import { type Action, type ActionDeps, type ActionInput, prepareAction } from '../verbs/actions/action.ts';
import { bind } from '../verbs/actions/bind.ts';
import { actionsOf } from '../verbs/actions/index.ts';
import { resourceVersionOf } from '../watch/stamp-resource-version.ts';
import type { CallPipeline } from './call-pipeline.ts';
import type { ItemStreams } from './item-stream.ts';
import type { SpecialMethods } from './typed-service.ts';

/** BindItem.binding and BoundPod.resourceVersion. */
const BINDING = 2;
const RESOURCE_VERSION = 1;

function inputOf({ body }: Action, request: Uint8Array): ActionInput {
  const { object = {}, options } = decodeStrictly<Partial<ActionInput>>(`${body.message}WriteRequest`, request, 'request');
  return { object, options };
}

/** The methods of a kind's actions. */
export function actionMethods(kind: string, deps: ActionDeps, pipeline: CallPipeline): SpecialMethods {
  const methods = actionsOf(kind).map((action) => [
    action.method,
    pipeline.unary((request, call) => prepareAction(action, inputOf(action, request), deps, call)),
  ]);
  return Object.fromEntries(methods);
}

/** Pods.BindStream: many bindings over one stream. */
export function bindStreamMethod(deps: ActionDeps, streams: ItemStreams): SpecialMethods {
  const { service } = deps.registry.store('Pod').kind;
  return {
    BindStream: streams.method(`/${service}/BindStream`, (item, call) => {
      if (item.field !== BINDING) throw badRequest('the item says nothing to do: set binding');
      const prepared = prepareAction(bind, inputOf(bind, item.request), deps, call);
      const bytes = async () => field(RESOURCE_VERSION, Buffer.from(resourceVersionOf((await prepared.run()).bytes)));
      return { run: async () => ({ bytes: await bytes() }) };
    }),
  };
}
