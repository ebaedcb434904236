import type { FieldViolation } from '../../errors/api-error.ts';
import { forbidden, invalidValue } from '../../errors/violations.ts';
import type { Pod, VolumeProjection } from '../../generated/types.ts';
import { annotations } from '../../meta/well-known.ts';

/**
 * The uid of a static pod is the hash of the file that it is made from. The API server gives other ones, so the form
 * tells them apart.
 */
const staticUid = /^[0-9a-f]{32}$/;

export function isStaticUid(uid: string | undefined): boolean {
  return uid !== undefined && staticUid.test(uid);
}

/** Whether an agent made the pod from a file on its machine; what the API has of it is its mirror. */
export function isStatic({ metadata }: Pod): boolean {
  return isStaticUid(metadata?.uid);
}

/** The uid of the static pod that a mirror pod shows; undefined of pods that are no mirrors. */
export function mirroredUid({ metadata }: Pod): string | undefined {
  return metadata?.annotations?.[annotations.configMirror];
}

export function isMirror(pod: Pod): boolean {
  return mirroredUid(pod) !== undefined;
}

/** Kubernetes' rules for the annotation that makes a pod a mirror. */
export function checkMirror(pod: Pod): FieldViolation[] {
  const uid = mirroredUid(pod);
  if (uid === undefined) return [];
  const why = 'must set spec.nodeName if mirror pod annotation is set';
  const bound = pod.spec?.nodeName ? [] : [invalidValue(mirrorField, uid, why)];
  return [...bound, ...checkNoReferences(pod)];
}

/** Whether a pod is a mirror is immutable. */
export function checkMirrorUpdate(next: Pod, previous: Pod): FieldViolation[] {
  const [now, was] = [mirroredUid(next), mirroredUid(previous)];
  if (now === was) return [];
  return [forbidden(mirrorField, `may not ${was === undefined ? 'add' : 'remove or update'} mirror pod annotation`)];
}

const mirrorField = `metadata.annotations[${annotations.configMirror}]`;

/** A static pod runs without the API server, so it can name nothing that only the API server has. */
export function checkNoReferences({ spec = {} }: Pod): FieldViolation[] {
  const found: [field: string, kind: string][] = [];
  const add = (field: string, kind: string, reference: unknown): void => {
    if (reference) found.push([field, kind]);
  };
  add('spec.serviceAccountName', 'service accounts', spec.serviceAccountName);
  add('spec.resourceClaims', 'resource claims', spec.resourceClaims?.length);
  spec.imagePullSecrets?.forEach((secret, i) => {
    add(`spec.imagePullSecrets[${i}]`, 'secrets', secret);
  });
  for (const part of ['initContainers', 'containers'] as const) {
    spec[part]?.forEach(({ env, envFrom }, c) => {
      envFrom?.forEach(({ configMapRef, secretRef }, i) => {
        add(`spec.${part}[${c}].envFrom[${i}].configMapRef`, 'config maps', configMapRef);
        add(`spec.${part}[${c}].envFrom[${i}].secretRef`, 'secrets', secretRef);
      });
      env?.forEach(({ valueFrom }, i) => {
        const at = `spec.${part}[${c}].env[${i}].valueFrom`;
        add(`${at}.configMapKeyRef`, 'config maps', valueFrom?.configMapKeyRef);
        add(`${at}.secretKeyRef`, 'secrets', valueFrom?.secretKeyRef);
      });
    });
  }
  spec.volumes?.forEach(({ volumeSource }, i) => {
    const at = `spec.volumes[${i}]`;
    add(`${at}.secret`, 'secrets', volumeSource?.secret);
    add(`${at}.configMap`, 'config maps', volumeSource?.configMap);
    add(`${at}.persistentVolumeClaim`, 'persistent volume claims', volumeSource?.persistentVolumeClaim);
    add(`${at}.ephemeral`, 'persistent volume claims', volumeSource?.ephemeral);
    volumeSource?.projected?.sources?.forEach((source, s) => {
      for (const name of Object.keys(projections) as (keyof typeof projections)[])
        add(`${at}.projected.sources[${s}].${name}`, projections[name], source[name]);
    });
  });
  return found.map(([field, kind]) => forbidden(field, `static pods may not reference ${kind}: they run without the API server`));
}

/** What a projected volume takes from the API server. */
const projections = {
  secret: 'secrets',
  configMap: 'config maps',
  serviceAccountToken: 'service accounts',
  clusterTrustBundle: 'cluster trust bundles',
  podCertificate: 'pod certificates',
} as const satisfies Partial<Record<keyof VolumeProjection, string>>;
