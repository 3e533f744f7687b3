// SPDX-License-Identifier: BSD-3-Clause
// Making a module, and taking the place of the previous one entry point by entry point.
#include "plugin/coll/module.hpp"

#include <new>

#include "plugin/coll/wrap.hpp"

namespace beeline::plugin::coll {
namespace {

void construct(opal_object_t* object) noexcept {
    auto* module = reinterpret_cast<Module*>(object);
#define BEELINE_ENTRY(name, family, form) \
    module->name = nullptr;               \
    module->name##_owner = nullptr;
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
    new (&module->schedules) Schedules;
    new (&module->handed) HandedOver;
    new (&module->blocking) ScheduleCall;
    module->inside.store(false, std::memory_order_relaxed);
}

void destruct(opal_object_t* object) noexcept {
    auto* module = reinterpret_cast<Module*>(object);
#define BEELINE_ENTRY(name, family, form)  \
    if (module->name##_owner != nullptr) { \
        OBJ_RELEASE(module->name##_owner); \
    }
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
    if (forget_schedule_requests(module->schedules)) {
        module->schedules.abandon_context();
    }
    module->blocking.~ScheduleCall();
    module->schedules.~Schedules();
}

OBJ_CLASS_DECLARATION(Module);
BEELINE_OBJ_CLASS_INSTANCE(Module, mca_coll_base_module_t, construct, destruct);

/// Called in ascending order of priority: what the communicator has now is what would serve it
/// without us. An entry point that nobody serves stays empty.
int enable(mca_coll_base_module_t* base, ompi_communicator_t* comm) {
    auto* module = reinterpret_cast<Module*>(base);
    mca_coll_base_comm_coll_t* previous = comm->c_coll;
#define BEELINE_ENTRY(entry, family, form)                                                         \
    if (previous->coll_##entry != nullptr && previous->coll_##entry##_module != nullptr) {         \
        module->entry = previous->coll_##entry;                                                    \
        module->entry##_owner = previous->coll_##entry##_module;                                   \
        OBJ_RETAIN(module->entry##_owner);                                                         \
        base->coll_##entry =                                                                       \
            guarded<&Wrap<decltype(Module::entry), &Module::entry, &Module::entry##_owner, family, \
                          Form::form, Entry::k_##entry>::call>;                                    \
    }
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
    return OMPI_SUCCESS;
}

}  // namespace

mca_coll_base_module_t* new_module() noexcept {
    auto* module = OBJ_NEW(Module);
    if (module == nullptr) {
        return nullptr;
    }
    module->super.coll_module_enable = guarded<&enable>;
    return &module->super;
}

}  // namespace beeline::plugin::coll
