import { ApiError, type ErrorCode } from '../../../api/errors/index.ts';
import type { ValidatingAdmissionPolicyBinding } from '../../../api/generated/types.ts';
import type { AdmissionAttributes } from '../dynamic.ts';
import type { Broken, Verdict } from './evaluate.ts';

/** What a policy with one binding, and one set of parameters, found about a request. */
export interface Finding extends Pick<Verdict, 'broken' | 'annotations'> {
  readonly policy: string;
  readonly binding: ValidatingAdmissionPolicyBinding;
  readonly error: 'no_error' | 'compile_error' | 'params_error' | 'evaluation_error';
  /** The policy or the binding itself is wrong: the request is denied, whatever the binding's actions are. */
  readonly isConfiguration?: boolean;
}

/** What the server does with a request after a finding. */
export type Enforcement = 'allow' | 'deny' | 'warn' | 'audit';

/** Kubernetes' name of the annotation with the rules that a request broke, for bindings with the action Audit. */
export const FAILURE_ANNOTATION = 'validation.policy.admission.k8s.io/validation_failure';

/** Reasons of rules as codes of gRPC. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  Invalid: 'INVALID_ARGUMENT',
  Forbidden: 'PERMISSION_DENIED',
  Unauthorized: 'UNAUTHENTICATED',
  RequestEntityTooLarge: 'INVALID_ARGUMENT',
};

interface AuditedFailure {
  readonly message: string;
  readonly policy: string;
  readonly binding: string;
  readonly expressionIndex: number;
  readonly validationActions: readonly string[];
}

/** Gathers what the policies find about one request; the warnings and the words for the audit log leave at once. */
export class Outcome {
  readonly #attributes: AdmissionAttributes;
  #denied: ApiError | undefined;
  readonly #audited: AuditedFailure[] = [];
  /** Values of audit annotations by their keys: several bindings may add to one. */
  readonly #annotations = new Map<string, Set<string>>();

  constructor(attributes: AdmissionAttributes) {
    this.#attributes = attributes;
  }

  add({ policy, binding, broken, annotations, isConfiguration }: Finding): Enforcement {
    for (const [key, value] of annotations) {
      const full = `${policy}/${key}`;
      this.#annotations.set(full, (this.#annotations.get(full) ?? new Set()).add(value));
    }
    const actions = isConfiguration ? ['Deny'] : (binding.spec?.validationActions ?? []);
    for (const each of broken) this.#enforce({ policy, binding: binding.metadata?.name ?? '', actions }, each);
    if (broken.length === 0) return 'allow';
    return actions.includes('Deny') ? 'deny' : actions.includes('Warn') ? 'warn' : 'audit';
  }

  #enforce(
    { policy, binding, actions }: { readonly policy: string; readonly binding: string; readonly actions: readonly string[] },
    { message, reason, index }: Broken,
  ): void {
    const named = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}'`;
    const { kind, namespace, name, call } = this.#attributes;
    if (actions.includes('Deny')) {
      const subject = { kind: kind.kind, name, ...(kind.namespaced && { namespace }) };
      const why = `${named} denied request: ${message}`;
      const options = { subject, parts: { of: 'forbidden', why } } as const;
      this.#denied ??= new ApiError(CODES[reason] ?? 'INVALID_ARGUMENT', reason, why, options);
    }
    if (actions.includes('Warn')) call.warn(`Validation failed for ${named}: ${message}`);
    if (actions.includes('Audit'))
      this.#audited.push({ message, policy, binding, expressionIndex: index, validationActions: actions });
  }

  /** Writes what the audit log is told. Throws the first denial. */
  end(): void {
    const { audited } = this.#attributes.call;
    for (const [key, values] of this.#annotations) audited?.annotate(key, [...values].join(', '));
    if (this.#audited.length > 0) audited?.annotate(FAILURE_ANNOTATION, JSON.stringify(this.#audited));
    if (this.#denied) throw this.#denied;
  }
}
