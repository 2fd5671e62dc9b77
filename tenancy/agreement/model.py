"""The agreement as types: what the file may say, and nothing else.

Every table refuses keys it does not know, every value is strict (no text that looks like a number, no 8.0 for 8), and
the result is frozen. What one table says about another (a team's flavor, a sum against a capacity) is not judged here
but in `checks`, so that a person sees every problem of a file at once.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .scalars import Amounts, Cpu, Duration, Memory, Texts, Weight, as_tuple

MAX_NODES = 1_000_000


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, str_max_length=4096, defer_build=True)


class Cluster(_Table):
    """`[cluster]`: the cluster the agreement is for."""

    name: str = Field(description="The cluster's name, also the name of Kueue's root Cohort.", examples=["lab"])
    team_label: str = Field(
        default="tenancy.dev/team",
        description="A namespace belongs to the team that this label of it names.",
    )
    guarantee_on: Literal["cohort", "queue"] = Field(
        default="cohort",
        description="Where the guarantee of a team with a prod slice stands: on the team's Cohort, or on its regular queue.",
    )
    prod_priority: str | None = Field(
        default=None,
        description="The priority of `[priorities]` that a job in a prod queue gets where it names none; default: the highest.",
    )


class UsageSharing(_Table):
    """`[sharing.usage]`: in a queue, whose namespace has used less of late goes first (Kueue's admission fair sharing)."""

    half_life: Duration = Field(
        default=7 * 86400,
        description="After this long, past usage counts half.",
        json_schema_extra={"default": "7d"},
    )
    sampling_interval: Duration = Field(
        default=300, description="How often usage is sampled.", json_schema_extra={"default": "5m"}
    )
    resource_weights: dict[str, Weight] = Field(
        default_factory=dict,
        description="How much a unit of each resource counts; default: every resource 1.",
        examples=[{"nvidia.com/gpu": 1, "cpu": 0}],
    )


class Sharing(_Table):
    """`[sharing]`: how what is lent, and the free pool, are divided while several teams want them."""

    policy: Literal["first", "fair"] = Field(
        default="first",
        description="Who gets what is lent: whoever asks first, or all in proportion to their weights (Kueue's fair sharing).",
    )
    preemption_strategies: Texts = Field(
        default=(),
        description="Of Kueue's fair sharing, when a share is taken from another; default: both.",
        examples=[["LessThanOrEqualToFinalShare", "LessThanInitialShare"]],
    )
    usage: UsageSharing | None = Field(default=None, description="Within a queue, by past usage of its namespaces.")
    preempt_min_runtime: Duration | None = Field(
        default=None,
        description="On KAI, how long a job runs before one of its own queue may stop it.",
        examples=["5m"],
    )
    reclaim_min_runtime: Duration | None = Field(
        default=None,
        description="On KAI, how long a job runs before another queue may take back its GPUs.",
        examples=["1m"],
    )


class Access(_Table):
    """`[access]`: who may do what. With it come RBAC, quotas of namespaces and admission policies."""

    platform_groups: Texts = Field(
        description="Groups (of OIDC) whose members may write queues and flavors; nobody else of the agreement may.",
        examples=[["gpu-platform"]],
    )
    exempt_namespaces: Texts = Field(
        default=(),
        description="Namespaces that no rule is for, beside those of Kubernetes and of the schedulers.",
        examples=[["monitoring"]],
    )
    default_cpu: Cpu = Field(
        default=500,
        description="What a container in a team's namespace asks for where it says nothing.",
        json_schema_extra={"default": "500m"},
    )
    default_memory: Memory = Field(
        default=2**30, description="The same for memory.", json_schema_extra={"default": "1Gi"}
    )


class Topology(_Table):
    """`[topologies.NAME]`: node labels from the widest domain to the narrowest."""

    levels: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = Field(
        description="Node label keys, widest first; `kubernetes.io/hostname` only last. 1 to 16.",
        examples=[["topology.kubernetes.io/zone", "kubernetes.io/hostname"]],
    )


class Mig(_Table):
    """`mig = {…}`: how each GPU of a flavor is cut."""

    gpu: str = Field(description="The GPU product in NVIDIA's MIG table.", examples=["A100-80GB"])
    profile: str = Field(description="The profile each GPU is cut into.", examples=["1g.10gb"])
    strategy: Literal["mixed", "single"] = Field(
        default="mixed",
        description="The device plugin's MIG strategy: slices are `nvidia.com/mig-…` (mixed) or `nvidia.com/gpu` (single).",
    )
    slices: int | None = Field(
        default=None, ge=1, le=64, description="Slices cut per GPU; default: as many of the profile as fit."
    )


class Taint(_Table):
    """`taints = [{…}]`: a taint of the flavor's nodes; jobs that are given the flavor get the matching toleration."""

    key: str = Field(description="The taint's key.", examples=["nvidia.com/gpu"])
    value: str = Field(default="", description="The taint's value.", examples=["present"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="What the taint does.")


class Flavor(_Table):
    """`[flavors.NAME]`: a kind of hardware, in whole nodes, and how CPU and memory follow its GPUs."""

    nodes: int = Field(ge=0, le=MAX_NODES, description="Nodes of this flavor.")
    gpus_per_node: int = Field(default=0, ge=0, le=1024, description="GPUs per node; 0 or absent: a CPU flavor.")
    cpu_per_node: Cpu | None = Field(default=None, description="CPUs per node that jobs may use.")
    memory_per_node: Memory | None = Field(default=None, description="Memory per node that jobs may use.")
    cpu_per_gpu: Cpu | None = Field(default=None, description="CPUs that go with each GPU of quota.")
    memory_per_gpu: Memory | None = Field(default=None, description="Memory that goes with each GPU of quota.")
    cpu_per_slice: Cpu | None = Field(default=None, description="CPUs that go with each MIG slice of quota.")
    memory_per_slice: Memory | None = Field(default=None, description="Memory that goes with each MIG slice of quota.")
    mig: Mig | None = Field(default=None, description="Cut every GPU of the flavor into MIG slices.")
    node_labels: dict[str, str] = Field(
        default_factory=dict,
        description="Labels that every node of the flavor carries, and no other node; default: `tenancy.dev/flavor` = its name.",
    )
    taints: Annotated[tuple[Taint, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Taints of the flavor's nodes."
    )
    topology: str | None = Field(default=None, description="The topology its nodes are labelled for.")


class Department(_Table):
    """`[departments.NAME]`: a group of teams; their capacity is summed in a Cohort of its own."""

    display_name: str | None = Field(default=None, description="The name to show to people.")
    weight: Weight = Field(
        default=1000,
        description="Its part of what is lent, beside its siblings'; 0: only what nobody else wants.",
        json_schema_extra={"default": 1},
    )


class Machines(_Table):
    """`[teams.NAME.machines]`: virtual machines (KubeVirt), all of one size, in a namespace that no queue is for."""

    namespace: str = Field(
        description="Their namespace. It gets no LocalQueue: Kueue would capture the machines' pods."
    )
    count: int = Field(ge=0, le=MAX_NODES, description="Machines, stopped ones too.")
    vcpus: int = Field(ge=1, le=1024, description="Virtual CPUs of a machine.")
    memory: Memory = Field(description="Memory of a machine's guest; what KubeVirt adds to it is added here too.")


class Team(_Table):
    """`[teams.NAME]`: what a team is promised. Amounts are a number (one flavor) or a table by flavor."""

    display_name: str | None = Field(default=None, description="The name to show to people.")
    department: str | None = Field(default=None, description="The department the team belongs to.")
    guaranteed: Amounts = Field(
        default_factory=dict, description="Available to the team whenever it asks, within the time a reclaim takes."
    )
    lendable: Amounts = Field(
        default_factory=dict,
        description="The part of guaranteed that others may use while it is idle; default: all of it.",
    )
    borrowable: Amounts = Field(
        default_factory=dict,
        description="How far above guaranteed the team may go on what others lend; default: no limit.",
    )
    prod: Amounts = Field(
        default_factory=dict,
        description="A slice of guaranteed for jobs that never borrow and take it back at once; default: 0.",
    )
    weight: Weight = Field(
        default=1000,
        description="Its part of what is lent, beside its siblings'; 0: only what nobody else wants.",
        json_schema_extra={"default": 1},
    )
    highest_priority: str | None = Field(
        default=None,
        description="The highest of `[priorities]` that its jobs may name; default: any for a team with prod, else any below "
        "the prod priority.",
    )
    members: Texts = Field(
        default=(), description="Groups (of OIDC) whose members submit jobs in the team's namespaces."
    )
    leads: Texts = Field(default=(), description="Groups whose members also see all of the team's Workloads.")
    namespaces: Texts = Field(
        default=(),
        description="Namespaces that are given the team's label; where the namespace operator serves a stack, all others that "
        "carry it are the team's too.",
    )
    profiles: dict[str, str] = Field(
        default_factory=dict,
        description="Kubeflow Profiles of the team: the profile's name, which is its namespace's, and its owner.",
        examples=[{"alice": "alice@example.com"}],
    )
    machines: Machines | None = Field(default=None, description="The team's virtual machines.")


class Agreement(_Table):
    """The whole file: a cluster, its flavors, and what each team is promised of them."""

    cluster: Cluster = Field(description="The cluster the agreement is for.")
    topologies: dict[str, Topology] = Field(default_factory=dict, description="How nodes are packed, by name.")
    flavors: dict[str, Flavor] = Field(description="The kinds of hardware, in the order jobs try them.")
    priorities: dict[str, Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]] = Field(
        default_factory=dict, description="WorkloadPriorityClasses by name; a value is an int32, higher goes first."
    )
    sharing: Sharing = Field(
        default_factory=Sharing, description="How what is lent is divided while several teams want it."
    )
    access: Access | None = Field(default=None, description="Who may do what; without it nobody's rights are written.")
    departments: dict[str, Department] = Field(default_factory=dict, description="Groups of teams.")
    teams: dict[str, Team] = Field(default_factory=dict, description="The teams, in the order of the file.")
